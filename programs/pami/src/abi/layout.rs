// SPDX-License-Identifier: MIT OR Apache-2.0
//! The types of `abi` are those of the headers: a C program prints sizes, offsets, values and whether types are the same.

use crate::abi::{self, *};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::Command;

const HEADERS: [&str; 3] = ["pami.h", "pami_ext_torus.h", "pami_ext_async_progress.h"];

/// How C spells a type. What is not a name stands inside `__typeof__`, so that these nest.
trait InC {
    fn spelling() -> String;
}

macro_rules! spelled {
    ($($rust:ty = $c:literal)*) => {
        $(impl InC for $rust {
            fn spelling() -> String {
                $c.to_owned()
            }
        })*
    };
}

spelled! {
    () = "void"
    c_void = "void"
    c_char = "char"
    c_int = "int"
    c_uint = "unsigned"
    usize = "size_t"
    f64 = "double"
}

impl<T: InC> InC for *mut T {
    fn spelling() -> String {
        format!("__typeof__({} *)", T::spelling())
    }
}

impl<T: InC> InC for *const T {
    fn spelling() -> String {
        format!("__typeof__(const {} *)", T::spelling())
    }
}

impl<T: InC, const N: usize> InC for [T; N] {
    fn spelling() -> String {
        format!("__typeof__({} [{N}])", T::spelling())
    }
}

macro_rules! functions {
    ($($first:ident $($rest:ident)*)?) => {
        impl<R: InC $(, $first: InC $(, $rest: InC)*)?> InC
            for Option<unsafe extern "C" fn($($first $(, $rest)*)?) -> R>
        {
            fn spelling() -> String {
                let arguments: Vec<String> = vec![$($first::spelling() $(, $rest::spelling())*)?];
                let arguments = if arguments.is_empty() { "void".to_owned() } else { arguments.join(", ") };
                format!("__typeof__({} (*)({arguments}))", R::spelling())
            }
        }
        $(functions!($($rest)*);)?
    };
}

functions!(A B C D E F G H I);

/// Expected value of a C expression.
struct Fact {
    expression: String,
    value: i64,
}

/// Facts to compare.
#[derive(Default)]
struct Facts(Vec<Fact>);

impl Facts {
    fn is(&mut self, expression: String, value: impl TryInto<i64>) {
        let value = value.try_into().ok().expect("values are small");
        self.0.push(Fact { expression, value });
    }

    fn same<T: InC>(&mut self, c: &str) {
        self.is(
            format!("__builtin_types_compatible_p({c}, {})", T::spelling()),
            1,
        );
    }

    fn size<T>(&mut self, c: &str) {
        self.is(format!("sizeof({c})"), size_of::<T>());
        self.is(format!("_Alignof({c})"), align_of::<T>());
    }

    fn member<F: InC>(&mut self, c: &str, name: &str, offset: usize) {
        let name = name.trim_start_matches("r#");
        self.is(format!("__builtin_offsetof({c}, {name})"), offset);
        self.same::<F>(&format!("__typeof__((({c} *)0)->{name})"));
    }

    /// The type of a structure's member is what `read` returns.
    fn structure<T, F: InC>(&mut self, c: &str, name: &str, offset: usize, _read: fn(&T) -> &F) {
        self.member::<F>(c, name, offset);
    }

    /// The type of a union's member is what `make` takes.
    fn union<T, F: InC>(&mut self, c: &str, name: &str, offset: usize, _make: fn(F) -> T) {
        self.member::<F>(c, name, offset);
    }

    /// `place` and `field` lead to a bit field of a type that is one word.
    fn bits(&mut self, c: &str, place: &str, field: &str, bits: Bits) {
        let word = "unsigned word; __builtin_memcpy(&word, &x, sizeof word); word;";
        let expression =
            format!("__extension__ ({{ {c} x = {{0}}; x.{place}{field} = -1; {word} }})");
        self.is(expression, bits.mask());
    }
}

macro_rules! structures {
    ($($rust:ident = $c:literal { $($field:ident),* })*) => {
        spelled! { $($rust = $c)* }

        fn structures(facts: &mut Facts) {
            $(
                facts.size::<$rust>($c);
                $(facts.structure($c, stringify!($field), offset_of!($rust, $field), |x: &$rust| &x.$field);)*
                let _no_others = |x: $rust| {
                    let $rust { $($field: _),* } = x;
                };
            )*
        }
    };
}

macro_rules! unions {
    ($($rust:ident = $c:literal { $($field:ident),* })*) => {
        spelled! { $($rust = $c)* }

        fn unions(facts: &mut Facts) {
            $(
                facts.size::<$rust>($c);
                $(facts.union($c, stringify!($field), offset_of!($rust, $field), |$field| $rust { $field });)*
            )*
        }
    };
}

macro_rules! values {
    ($($rust:ident = $c:literal $prefix:literal { $($name:ident),* })*) => {
        spelled! { $($rust = $c)* }

        fn values(facts: &mut Facts) {
            $(
                facts.size::<$rust>($c);
                $(facts.is(concat!($prefix, stringify!($name)).to_owned(), $rust::$name.0);)*
            )*
        }
    };
}

macro_rules! words {
    ($($rust:ident = $c:literal $place:literal { $($field:ident: $bits:ident),* })*) => {
        spelled! { $($rust = $c)* }

        fn words(facts: &mut Facts) {
            $(
                facts.size::<$rust>($c);
                $(facts.bits($c, $place, stringify!($field), $rust::$bits);)*
            )*
        }
    };
}

macro_rules! others {
    ($($rust:ty = $c:literal)*) => {
        fn others(facts: &mut Facts) {
            $(
                facts.size::<$rust>($c);
                facts.same::<$rust>($c);
            )*
        }
    };
}

include!("layout_lists.rs");

fn facts() -> Facts {
    let mut facts = Facts::default();
    structures(&mut facts);
    unions(&mut facts);
    values(&mut facts);
    words(&mut facts);
    others(&mut facts);
    for (name, value) in CONSTANTS {
        facts.is((*name).to_owned(), *value);
    }
    facts
}

fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

fn compiler() -> Command {
    let mut command = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    command.arg("-I").arg(include());
    command
}

#[test]
fn c_and_rust_agree() {
    let facts = facts().0;
    let mut source: String = HEADERS
        .iter()
        .map(|header| format!("#include <{header}>\n"))
        .collect();
    source += "#include <stdio.h>\nint main(void) {\n";
    for fact in &facts {
        source += &format!("  printf(\"%lld\\n\", (long long)({}));\n", fact.expression);
    }
    source += "}\n";
    let folder = tempfile::tempdir().unwrap();
    let (file, program) = (folder.path().join("layout.c"), folder.path().join("layout"));
    std::fs::write(&file, source).unwrap();
    let status = compiler()
        .arg(&file)
        .arg("-o")
        .arg(&program)
        .status()
        .unwrap();
    assert!(status.success(), "{} does not compile", file.display());
    let output = Command::new(&program).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let values: Vec<i64> = printed.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(values.len(), facts.len());
    let wrong: Vec<String> = std::iter::zip(&facts, values)
        .filter(|(fact, value)| fact.value != *value)
        .map(|(fact, value)| format!("{}: C {value}, Rust {}", fact.expression, fact.value))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn generated_types_are_those_of_the_headers() {
    let generator = Path::new(env!("CARGO_MANIFEST_DIR")).join("abi.py");
    let output = Command::new("python3")
        .arg(generator)
        .arg("--check")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
}

#[test]
fn headers_are_clean_in_c_and_cxx() {
    for header in HEADERS {
        for standard in [
            ["-xc", "-std=c99"],
            ["-xc", "-std=c11"],
            ["-xc++", "-std=c++98"],
            ["-xc++", "-std=c++17"],
        ] {
            let mut command = compiler();
            command
                .args(standard)
                .args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]);
            let status = command.arg(include().join(header)).status().unwrap();
            assert!(status.success(), "{header} with {standard:?}");
        }
    }
}
