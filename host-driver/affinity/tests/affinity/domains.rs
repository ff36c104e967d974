// SPDX-License-Identifier: MIT OR Apache-2.0
//! Domains, their trees and leaders, over many descriptions of hardware and placements of software threads.

use std::collections::BTreeSet;

use gyre_affinity::{Domains, Place, Processor, Tree, TreeError, Unit};
use proptest::prelude::*;

fn place(processor: u16, module: u16, core: u16, thread: u16) -> Place {
    Place {
        processor,
        module,
        core,
        thread,
    }
}

/// Checks that a tree joins all its threads, and returns the depth of each.
fn depths(tree: &Tree) -> Vec<usize> {
    let depth = |thread: usize| {
        let mut depth = 0;
        let mut at = thread;
        while let Some(parent) = tree.parent(at) {
            assert!(tree.children(parent).contains(&at), "{parent} above {at}");
            at = parent;
            depth += 1;
            assert!(depth < tree.len(), "thread {thread} is in a circle");
        }
        assert_eq!(at, tree.root(), "thread {thread} is cut off");
        depth
    };
    let edges: usize = (0..tree.len()).map(|t| tree.children(t).len()).sum();
    assert_eq!(edges, tree.len() - 1);
    (0..tree.len()).map(depth).collect()
}

/// Checks the invariants of the domains of any places.
fn check(places: &[Place], arity: usize) -> Domains {
    let domains = Domains::new(places, arity).expect("a tree");
    for domain in domains.all() {
        let inside = |&thread: &usize| places[thread].within(domain.unit) == domain.place;
        let expected: Vec<usize> = (0..places.len()).filter(inside).collect();
        assert_eq!(domain.threads, expected);
        assert_eq!(domain.members[0], domain.leader);
        assert_eq!(domain.leader, expected[0]);
        // n-ary: no member has more than n children in the domain's tree.
        for &member in &domain.members {
            let children = domain.edges().filter(|&(_, parent)| parent == member);
            assert!(children.count() <= arity);
        }
    }
    for unit in [Unit::Core, Unit::Module, Unit::Processor] {
        let in_domains: usize = domains.of(unit).map(|d| d.threads.len()).sum();
        assert_eq!(in_domains, places.len(), "{unit:?}: every thread is in one");
    }
    depths(domains.tree());
    // Threads of different domains are joined by leaders alone.
    for thread in 0..places.len() {
        let Some(parent) = domains.tree().parent(thread) else {
            continue;
        };
        for unit in Unit::DOMAINS {
            if places[thread].within(unit) == places[parent].within(unit) {
                continue;
            }
            for end in [thread, parent] {
                let own = |d: &&gyre_affinity::Domain| d.threads.contains(&end);
                let leader = domains.of(unit).find(own).map(|d| d.leader);
                assert_eq!(leader, Some(end), "{thread} and {parent} across {unit:?}");
            }
        }
    }
    domains
}

#[test]
fn af2_domains_of_the_reference_processor() {
    let processor = Processor::default();
    let places: Vec<Place> = (0..64).filter_map(|n| processor.place(n)).collect();
    assert_eq!(places.len(), 64);
    assert_eq!(places[63], place(0, 3, 3, 3));
    assert_eq!(processor.place(64), None);
    let domains = check(&places, 2);
    let count = |unit| domains.of(unit).count();
    assert_eq!(
        (
            count(Unit::Core),
            count(Unit::Module),
            count(Unit::Processor)
        ),
        (16, 4, 1)
    );
    let second = domains.of(Unit::Core).nth(1).expect("a core");
    assert_eq!((second.leader, &second.threads[..]), (4, &[4, 5, 6, 7][..]));
    let module = domains.of(Unit::Module).nth(1).expect("a module");
    assert_eq!(module.members, [16, 20, 24, 28]);
    let all = domains.of(Unit::Processor).next().expect("a processor");
    assert_eq!(all.members, [0, 16, 32, 48]);
}

#[test]
fn af3_each_domain_has_an_n_ary_tree_and_a_leader() {
    let places: Vec<Place> = (0..7).map(|thread| place(0, 0, 0, thread)).collect();
    let domains = check(&places, 3);
    let tree = domains.tree();
    assert_eq!(tree.root(), 0);
    assert_eq!(tree.children(0), [1, 2, 3]);
    assert_eq!(tree.children(1), [4, 5, 6]);
    assert_eq!(tree.parent(6), Some(1));
    assert!(tree.is_above(1, 6) && tree.is_above(6, 6) && !tree.is_above(2, 6));
    // Depth of a complete binary tree of 7, and of a chain.
    assert_eq!(depths(check(&places, 2).tree()).iter().max(), Some(&2));
    assert_eq!(depths(check(&places, 1).tree()).iter().max(), Some(&6));
    assert_eq!(Tree::by_number(7, 3).as_ref(), Ok(tree));
}

#[test]
fn af3_a_chosen_thread_leads_its_domains() {
    let processor = Processor::default();
    let places: Vec<Place> = (0..64).filter_map(|n| processor.place(n)).collect();
    let domains = Domains::led_by(&places, 2, 38).expect("a tree");
    assert_eq!(domains.tree().root(), 38);
    let leaders = |unit| -> Vec<usize> { domains.of(unit).map(|d| d.leader).collect() };
    assert_eq!(leaders(Unit::Module), [0, 16, 38, 48]);
    assert_eq!(leaders(Unit::Core)[9], 38);
    depths(domains.tree());
}

#[test]
fn af2_one_of_everything_and_uneven_hardware() {
    let one = check(&[place(0, 0, 0, 0)], 2);
    assert_eq!(one.all().len(), 3);
    assert_eq!(one.tree().children(0), [0; 0]);
    // A core of one thread beside one of three, a module of one core, and a second processor.
    let uneven = [
        place(0, 0, 1, 2),
        place(1, 3, 0, 0),
        place(0, 0, 0, 0),
        place(0, 2, 5, 1),
        place(0, 0, 1, 0),
        place(0, 0, 1, 1),
        place(1, 3, 0, 1),
    ];
    let domains = check(&uneven, 2);
    let threads =
        |unit| -> Vec<Vec<usize>> { domains.of(unit).map(|d| d.threads.clone()).collect() };
    assert_eq!(
        threads(Unit::Core),
        [vec![2], vec![0, 4, 5], vec![3], vec![1, 6]]
    );
    assert_eq!(
        threads(Unit::Module),
        [vec![0, 2, 4, 5], vec![3], vec![1, 6]]
    );
    assert_eq!(threads(Unit::Processor), [vec![0, 2, 3, 4, 5], vec![1, 6]]);
    let node = domains.of(Unit::Node).next().expect("two processors");
    assert_eq!(node.members, [0, 1]);
}

#[test]
fn af3_empty_trees_and_arity_0_are_refused() {
    assert_eq!(Domains::new(&[], 2), Err(TreeError::Empty));
    assert_eq!(Tree::by_number(0, 2), Err(TreeError::Empty));
    let two = [place(0, 0, 0, 0), place(0, 0, 0, 1)];
    assert_eq!(Domains::new(&two, 0), Err(TreeError::Arity));
    assert_eq!(Tree::by_number(2, 0), Err(TreeError::Arity));
}

#[test]
fn af1_an_invalid_processor_is_refused_by_field() {
    let fault = |change: fn(&mut Processor)| {
        let mut processor = Processor::default();
        change(&mut processor);
        processor.validate().map_err(|error| error.to_string())
    };
    assert_eq!(fault(|_| {}), Ok(()));
    let error = |text: &str| Err(text.to_owned());
    assert_eq!(
        fault(|p| p.modules = 0),
        error("modules = 0, expected 1 to 64")
    );
    assert_eq!(
        fault(|p| p.threads = 65),
        error("threads = 65, expected 1 to 64")
    );
    assert_eq!(
        fault(|p| p.core_cycles = 83),
        error("module_cycles = 82, expected 83 to 1000000")
    );
    assert_eq!(fault(|p| p.cores = 64), Ok(()));
    assert_eq!(fault(|p| p.processor_cycles = 1_000_000), Ok(()));
    assert_eq!(
        fault(|p| p.processor_cycles = 1_000_001),
        error("processor_cycles = 1000001, expected 82 to 1000000")
    );
}

#[test]
fn af1_af6_the_smallest_common_unit_gives_the_cost_of_a_line() {
    let processor = Processor::default();
    let here = place(1, 2, 3, 1);
    for (other, unit, cycles) in [
        (here, Unit::Thread, 0),
        (place(1, 2, 3, 0), Unit::Core, 6),
        (place(1, 2, 0, 1), Unit::Module, 82),
        (place(1, 0, 3, 1), Unit::Processor, 164),
        (place(0, 2, 3, 1), Unit::Node, 164),
    ] {
        assert_eq!(here.common(other), unit);
        assert_eq!(other.common(here), unit);
        assert_eq!(processor.line_cycles(unit), cycles, "{unit:?}");
    }
    // Places on hardware whose modules have more threads a core than cores.
    let uneven = Processor {
        modules: 2,
        cores: 3,
        threads: 5,
        ..processor
    };
    assert_eq!(uneven.place(29), Some(place(0, 1, 2, 4)));
    assert_eq!(uneven.place(15), Some(place(0, 1, 0, 0)));
    assert_eq!(uneven.place(30), None);
}

proptest! {
    #[test]
    fn af2_af3_af4_random_places_give_valid_domains_and_trees(
        shape in (1u16..4, 1u16..4, 1u16..5, 1u16..5),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..80),
        arity in 1usize..6,
    ) {
        let (processors, modules, cores, threads) = shape;
        let mut all = Vec::new();
        for p in 0..processors {
            for m in 0..modules {
                for c in 0..cores {
                    all.extend((0..threads).map(|t| place(p, m, c, t)));
                }
            }
        }
        // Some hardware threads carry none, some several.
        let places: Vec<Place> = picks.iter().map(|pick| all[pick.index(all.len())]).collect();
        let domains = check(&places, arity);
        let used: BTreeSet<Place> = places.iter().map(|p| p.within(Unit::Core)).collect();
        prop_assert_eq!(domains.of(Unit::Core).count(), used.len());
        depths(&Tree::by_number(places.len(), arity).expect("a tree"));
    }
}
