//! The types of `abi` are those of the headers: a C program prints sizes, offsets, values and whether types are the
//! same. What is in the headers is in the lists here.

use pami::abi::{self, *};
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

/// What an expression in C must be.
struct Fact {
    expression: String,
    value: i64,
}

/// The facts, and the names that they cover.
#[derive(Default)]
struct Facts {
    facts: Vec<Fact>,
    types: Vec<String>,
    members: Vec<String>,
    constants: Vec<String>,
}

impl Facts {
    fn is(&mut self, expression: String, value: impl TryInto<i64>) {
        let value = value.try_into().ok().expect("values are small");
        self.facts.push(Fact { expression, value });
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

    fn aggregate<T>(&mut self, c: &str) {
        self.size::<T>(c);
        if !c.starts_with("__typeof__") {
            self.types.push(c.to_owned());
        }
    }

    fn member<F: InC>(&mut self, c: &str, name: &str, offset: usize) {
        let name = name.trim_start_matches("r#");
        self.is(format!("__builtin_offsetof({c}, {name})"), offset);
        self.same::<F>(&format!("__typeof__((({c} *)0)->{name})"));
        self.members.push(name.to_owned());
    }

    /// The type of a structure's member is what `read` returns.
    fn structure<T, F: InC>(&mut self, c: &str, name: &str, offset: usize, _read: fn(&T) -> &F) {
        self.member::<F>(c, name, offset);
    }

    /// The type of a union's member is what `make` takes.
    fn union<T, F: InC>(&mut self, c: &str, name: &str, offset: usize, _make: fn(F) -> T) {
        self.member::<F>(c, name, offset);
    }

    fn constant(&mut self, c: &str, value: impl TryInto<i64>) {
        self.is(c.to_owned(), value);
        self.constants.push(c.to_owned());
    }

    /// `place` and `field` lead to a bit field of a type that is one word.
    fn bits(&mut self, c: &str, place: &str, field: &str, bits: Bits) {
        let word = "unsigned word; __builtin_memcpy(&word, &x, sizeof word); word;";
        let expression =
            format!("__extension__ ({{ {c} x = {{0}}; x.{place}{field} = -1; {word} }})");
        self.is(expression, bits.mask());
        self.members.push(field.to_owned());
    }
}

macro_rules! structures {
    ($($rust:ident = $c:literal { $($field:ident),* })*) => {
        spelled! { $($rust = $c)* }

        fn structures(facts: &mut Facts) {
            $(
                facts.aggregate::<$rust>($c);
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
                facts.aggregate::<$rust>($c);
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
                facts.aggregate::<$rust>($c);
                $(facts.constant(concat!($prefix, stringify!($name)), $rust::$name.0);)*
            )*
        }
    };
}

macro_rules! words {
    ($($rust:ident = $c:literal $place:literal { $($field:ident: $bits:ident),* })*) => {
        spelled! { $($rust = $c)* }

        fn words(facts: &mut Facts) {
            $(
                facts.aggregate::<$rust>($c);
                $(facts.bits($c, $place, stringify!($field), $rust::$bits);)*
            )*
        }
    };
}

macro_rules! others {
    ($($rust:ty = $c:literal)*) => {
        fn others(facts: &mut Facts) {
            $(
                facts.aggregate::<$rust>($c);
                facts.same::<$rust>($c);
            )*
        }
    };
}

structures! {
    Iovec = "struct iovec" { iov_base, iov_len }
    UserConfig = "pami_user_config_t" { key, value }
    Configuration = "pami_configuration_t" { name, value }
    Metadata = "pami_metadata_t" {
        name, version, check_fn, range_lo, range_hi, send_min_align, recv_min_align, check_correct, check_perf,
        range_lo_perf, range_hi_perf, min_align_perf
    }
    SendImmediate = "pami_send_immediate_t" { header, data, dispatch, hints, dest }
    SendEvent = "pami_send_event_t" { cookie, local_fn, remote_fn }
    SendSimple = "pami_send_t" { send, events }
    SendTypedData = "__typeof__(((pami_send_typed_t *)0)->typed)" { r#type, offset, data_fn, data_cookie }
    SendTyped = "pami_send_typed_t" { send, events, typed }
    Recv = "pami_recv_t" { cookie, local_fn, addr, r#type, offset, data_fn, data_cookie }
    Rma = "pami_rma_t" { dest, hints, bytes, cookie, done_fn }
    RmaAddr = "pami_rma_addr_t" { local, remote }
    RmaTyped = "pami_rma_typed_t" { local, remote }
    RmaPut = "pami_rma_put_t" { rdone_fn }
    PutSimple = "pami_put_simple_t" { rma, addr, put }
    PutTyped = "pami_put_typed_t" { rma, addr, r#type, put }
    GetSimple = "pami_get_simple_t" { rma, addr }
    GetTyped = "pami_get_typed_t" { rma, addr, r#type }
    Rmw = "pami_rmw_t" { dest, hints, cookie, done_fn, local, remote, value, test, operation, r#type }
    RmaMr = "pami_rma_mr_t" { mr, offset }
    Rdma = "pami_rdma_t" { local, remote }
    RputSimple = "pami_rput_simple_t" { rma, rdma, put }
    RputTyped = "pami_rput_typed_t" { rma, rdma, r#type, put }
    RgetSimple = "pami_rget_simple_t" { rma, rdma }
    RgetTyped = "pami_rget_typed_t" { rma, rdma, r#type }
    GeometryRange = "pami_geometry_range_t" { lo, hi }
    Alltoallv = "pami_alltoallv_t" { sndbuf, stype, stypecounts, sdispls, rcvbuf, rtype, rtypecounts, rdispls }
    AlltoallvInt = "pami_alltoallv_int_t" { sndbuf, stype, stypecounts, sdispls, rcvbuf, rtype, rtypecounts, rdispls }
    Alltoall = "pami_alltoall_t" { sndbuf, stype, stypecount, rcvbuf, rtype, rtypecount }
    Reduce = "pami_reduce_t" {
        root, sndbuf, stype, stypecount, rcvbuf, rtype, rtypecount, op, data_cookie, commutative
    }
    ReduceScatter = "pami_reduce_scatter_t" {
        sndbuf, stype, stypecount, rcvbuf, rtype, rcounts, op, data_cookie, commutative
    }
    Broadcast = "pami_broadcast_t" { root, buf, r#type, typecount }
    Allgather = "pami_allgather_t" { sndbuf, stype, stypecount, rcvbuf, rtype, rtypecount }
    Gather = "pami_gather_t" { root, sndbuf, stype, stypecount, rcvbuf, rtype, rtypecount }
    Gatherv = "pami_gatherv_t" { root, sndbuf, stype, stypecount, rcvbuf, rtype, rtypecounts, rdispls }
    GathervInt = "pami_gatherv_int_t" { root, sndbuf, stype, stypecount, rcvbuf, rtype, rtypecounts, rdispls }
    Allgatherv = "pami_allgatherv_t" { sndbuf, stype, stypecount, rcvbuf, rtype, rtypecounts, rdispls }
    AllgathervInt = "pami_allgatherv_int_t" { sndbuf, stype, stypecount, rcvbuf, rtype, rtypecounts, rdispls }
    Scatter = "pami_scatter_t" { root, sndbuf, stype, stypecount, rcvbuf, rtype, rtypecount }
    Scatterv = "pami_scatterv_t" { root, sndbuf, stype, stypecounts, sdispls, rcvbuf, rtype, rtypecount }
    ScattervInt = "pami_scatterv_int_t" { root, sndbuf, stype, stypecounts, sdispls, rcvbuf, rtype, rtypecount }
    Allreduce = "pami_allreduce_t" {
        sndbuf, stype, stypecount, rcvbuf, rtype, rtypecount, op, data_cookie, commutative
    }
    Scan = "pami_scan_t" { sndbuf, stype, stypecount, rcvbuf, rtype, rtypecount, op, data_cookie, exclusive }
    Barrier = "pami_barrier_t" {  }
    Ambroadcast = "pami_ambroadcast_t" { dispatch, user_header, headerlen, sndbuf, stype, stypecount }
    Amscatter = "pami_amscatter_t" { dispatch, headers, headerlen, sndbuf, stype, stypecount }
    Amgather = "pami_amgather_t" { dispatch, headers, headerlen, rcvbuf, rtype, rtypecount }
    Amreduce = "pami_amreduce_t" {
        dispatch, user_header, headerlen, rcvbuf, rtype, rtypecount, data_cookie, commutative
    }
    Xfer = "pami_xfer_t" { cb_done, cookie, algorithm, options, cmd }
    TorusInformation = "pami_extension_torus_information_t" { dims, coord, size, torus }
}

unions! {
    AttributeValue = "pami_attribute_value_t" { intval, doubleval, chararray, intarray }
    Collective = "pami_collective_t" {
        xfer_allreduce, xfer_broadcast, xfer_reduce, xfer_allgather, xfer_allgatherv, xfer_allgatherv_int,
        xfer_scatter, xfer_scatterv, xfer_scatterv_int, xfer_gather, xfer_gatherv, xfer_gatherv_int, xfer_alltoall,
        xfer_alltoallv, xfer_alltoallv_int, xfer_ambroadcast, xfer_amscatter, xfer_amgather, xfer_amreduce,
        xfer_scan, xfer_barrier, xfer_reduce_scatter
    }
    DispatchCallbackFunction = "pami_dispatch_callback_function" { p2p, ambroadcast, amscatter, amgather, amreduce }
}

values! {
    ResultCode = "pami_result_t" "PAMI_" {
        SUCCESS, NERROR, ERROR, INVAL, UNIMPL, EAGAIN, ENOMEM, SHUTDOWN, CHECK_ERRNO, OTHER, RESULT_EXT
    }
    AttributeName = "pami_attribute_name_t" "PAMI_" {
        CLIENT_CLOCK_MHZ, CLIENT_CONST_CONTEXTS, CLIENT_HWTHREADS_AVAILABLE, CLIENT_MEMREGION_SIZE, CLIENT_MEM_SIZE,
        CLIENT_NUM_TASKS, CLIENT_NUM_LOCAL_TASKS, CLIENT_LOCAL_TASKS, CLIENT_NUM_CONTEXTS, CLIENT_PROCESSOR_NAME,
        CLIENT_TASK_ID, CLIENT_WTIMEBASE_MHZ, CLIENT_WTICK, CONTEXT_DISPATCH_ID_MAX, DISPATCH_RECV_IMMEDIATE_MAX,
        DISPATCH_SEND_IMMEDIATE_MAX, DISPATCH_ATOM_SIZE_MAX, GEOMETRY_OPTIMIZE, TYPE_DATA_SIZE, TYPE_DATA_EXTENT,
        TYPE_ATOM_SIZE, ATTRIBUTE_NAME_EXT
    }
    Hint = "pami_hint_t" "PAMI_HINT_" { DEFAULT, ENABLE, DISABLE, INVALID }
    Atomic = "pami_atomic_t" "PAMI_ATOMIC_" {
        FETCH, COMPARE, SET, ADD, OR, AND, XOR, FETCH_SET, FETCH_ADD, FETCH_OR, FETCH_AND, FETCH_XOR, COMPARE_SET,
        COMPARE_ADD, COMPARE_OR, COMPARE_AND, COMPARE_XOR, FETCH_COMPARE_SET, FETCH_COMPARE_ADD, FETCH_COMPARE_OR,
        FETCH_COMPARE_AND, FETCH_COMPARE_XOR
    }
    XferType = "pami_xfer_type_t" "PAMI_XFER_" {
        BROADCAST, ALLREDUCE, REDUCE, ALLGATHER, ALLGATHERV, ALLGATHERV_INT, SCATTER, SCATTERV, SCATTERV_INT,
        GATHER, GATHERV, GATHERV_INT, BARRIER, ALLTOALL, ALLTOALLV, ALLTOALLV_INT, SCAN, REDUCE_SCATTER,
        AMBROADCAST, AMSCATTER, AMGATHER, AMREDUCE, COUNT, TYPE_EXT
    }
    AsyncEvent = "pamix_async_t" "PAMIX_ASYNC_" { ALL, RECV_INTERRUPT, TIMER, EXT }
}

words! {
    MetadataResult = "metadata_result_t" "check." {
        unspecified: UNSPECIFIED, range: RANGE, align_send_buffer: ALIGN_SEND_BUFFER,
        align_recv_buffer: ALIGN_RECV_BUFFER, datatype_op: DATATYPE_OP, contiguous_send: CONTIGUOUS_SEND,
        contiguous_recv: CONTIGUOUS_RECV, continuous_send: CONTINUOUS_SEND, continuous_recv: CONTINUOUS_RECV,
        nonlocal: NONLOCAL
    }
    CheckCorrect = "__typeof__(((pami_metadata_t *)0)->check_correct)" "values." {
        checkrequired: CHECKREQUIRED, nonlocal: NONLOCAL, rangeminmax: RANGEMINMAX, sendminalign: SENDMINALIGN,
        recvminalign: RECVMINALIGN, alldtop: ALLDTOP, contigsflags: CONTIGSFLAGS, contigrflags: CONTIGRFLAGS,
        continsflags: CONTINSFLAGS, continrflags: CONTINRFLAGS, blocking: BLOCKING, inplace: INPLACE,
        asyncflowctl: ASYNCFLOWCTL, oneatatime: ONEATATIME, global_order: GLOBAL_ORDER
    }
    CheckPerf = "__typeof__(((pami_metadata_t *)0)->check_perf)" "values." { hw_accel: HW_ACCEL }
    DispatchHint = "pami_dispatch_hint_t" "" {
        multicontext: MULTICONTEXT, long_header: LONG_HEADER, recv_contiguous: RECV_CONTIGUOUS,
        recv_copy: RECV_COPY, recv_immediate: RECV_IMMEDIATE, consistency: CONSISTENCY,
        buffer_registered: BUFFER_REGISTERED, remote_async_progress: REMOTE_ASYNC_PROGRESS, use_rdma: USE_RDMA,
        use_shmem: USE_SHMEM, queue_immediate: QUEUE_IMMEDIATE
    }
    SendHint = "pami_send_hint_t" "" {
        reserved0: RESERVED0, buffer_registered: BUFFER_REGISTERED, remote_async_progress: REMOTE_ASYNC_PROGRESS,
        use_rdma: USE_RDMA, use_shmem: USE_SHMEM, reserved1: RESERVED1
    }
    CollectiveHint = "pami_collective_hint_t" "" { multicontext: MULTICONTEXT, reserved0: RESERVED0 }
}

others! {
    Client = "pami_client_t"
    Context = "pami_context_t"
    Type = "pami_type_t"
    Task = "pami_task_t"
    Endpoint = "pami_endpoint_t"
    Geometry = "pami_geometry_t"
    Algorithm = "pami_algorithm_t"
    EventFunction = "pami_event_function"
    DataFunction = "pami_data_function"
    WorkFunction = "pami_work_function"
    Work = "pami_work_t"
    UserKey = "pami_user_key_t"
    UserValue = "pami_user_value_t"
    MetadataFunction = "pami_metadata_function"
    DispatchP2pFunction = "pami_dispatch_p2p_function"
    Memregion = "pami_memregion_t"
    DispatchAmbroadcastFunction = "pami_dispatch_ambroadcast_function"
    DispatchAmscatterFunction = "pami_dispatch_amscatter_function"
    DispatchAmgatherFunction = "pami_dispatch_amgather_function"
    DispatchAmreduceFunction = "pami_dispatch_amreduce_function"
    Extension = "pami_extension_t"
    TorusInformationFunction = "pami_extension_torus_information_fn"
    TorusTask2torusFunction = "pami_extension_torus_task2torus_fn"
    TorusTorus2taskFunction = "pami_extension_torus_torus2task_fn"
    AsyncFunction = "pamix_async_function"
    AsyncRegisterFunction = "pamix_async_progress_register_fn"
    AsyncEnableFunction = "pamix_async_progress_enable_fn"
    AsyncDisableFunction = "pamix_async_progress_disable_fn"
    *mut Xfer = "xfer_p"
}

fn facts() -> Facts {
    let mut facts = Facts::default();
    structures(&mut facts);
    unions(&mut facts);
    values(&mut facts);
    words(&mut facts);
    others(&mut facts);
    for (name, value) in [
        ("PAMI_CLIENT_MEMREGION_SIZE_STATIC", abi::MEMREGION_BYTES),
        ("PAMI_WORK_SIZE_STATIC", abi::WORK_BYTES),
        ("PAMI_REQUEST_NQUADS", abi::REQUEST_NQUADS),
    ] {
        facts.is(name.to_owned(), value);
    }
    facts.is(
        "PAMIX_CLIENT_ASYNC_GUARANTEE".to_owned(),
        abi::CLIENT_ASYNC_GUARANTEE.0,
    );
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
    let facts = facts().facts;
    let mut source: String = HEADERS
        .iter()
        .map(|header| format!("#include <{header}>\n"))
        .collect();
    source += "#include <stdio.h>\nint main(void) {\n";
    for fact in &facts {
        source += &format!("  printf(\"%lld\\n\", (long long)({}));\n", fact.expression);
    }
    source += "}\n";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (file, program) = (folder.join("layout.c"), folder.join("layout"));
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

/// The headers without comments and lines of the preprocessor.
fn declarations() -> String {
    let mut text = String::new();
    for header in HEADERS {
        let source = std::fs::read_to_string(include().join(header)).expect("a header");
        let mut parts = source.split("/*");
        text += parts.next().expect("a split has a first part");
        for part in parts {
            text += part.split_once("*/").expect("a comment ends").1;
        }
    }
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The last word of a declaration, before the width of a bit field and the bounds of an array.
fn declared(declaration: &str) -> String {
    let declaration = declaration
        .split([':', '['])
        .next()
        .unwrap_or_default()
        .trim_end();
    let start = declaration.rfind(|c: char| !c.is_alphanumeric() && c != '_');
    declaration[start.map_or(0, |start| start + 1)..].to_owned()
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

#[test]
fn lists_are_complete() {
    let text = declarations();
    let (mut types, mut members, mut constants) = (Vec::new(), Vec::new(), Vec::new());
    for chunk in text.split("typedef ").skip(1) {
        let depth =
            |upto: usize| chunk[..upto].matches('{').count() - chunk[..upto].matches('}').count();
        let end = chunk
            .match_indices(';')
            .map(|(at, _)| at)
            .find(|&at| depth(at) == 0)
            .unwrap();
        let chunk = &chunk[..end];
        if let Some((head, rest)) = chunk.split_once('{') {
            let (body, name) = rest.rsplit_once('}').unwrap();
            types.push(name.trim().to_owned());
            if head.starts_with("enum") {
                constants.extend(
                    body.split(',')
                        .map(|value| declared(value.split('=').next().unwrap())),
                );
            } else {
                let mut pieces: Vec<&str> = body.split(';').collect();
                pieces.pop();
                members.extend(pieces.into_iter().map(declared));
            }
        } else if let Some((_, rest)) = chunk.split_once("(*") {
            types.push(rest.split_once(')').unwrap().0.to_owned());
        } else {
            types.push(declared(chunk));
        }
    }
    let mut facts = facts();
    // A union of a word and its bits is the word in Rust.
    let words = [
        "bitmask",
        "check",
        "bitmask_correct",
        "values",
        "bitmask_perf",
        "values",
    ];
    facts.members.extend(words.map(str::to_owned));
    let outside = ["struct iovec", "iov_base", "iov_len"];
    let inside = |names: Vec<String>| {
        sorted(
            names
                .into_iter()
                .filter(|name| !outside.contains(&&**name))
                .collect(),
        )
    };
    assert_eq!(sorted(types), inside(facts.types));
    assert_eq!(sorted(members), inside(facts.members));
    assert_eq!(sorted(constants), inside(facts.constants));
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
