import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explore } from './explore.ts'
import * as mutants from './mutants-fixture.ts'
import type { SimulatedStore } from './store.ts'

/** What each fault of a database shows, as the start of the first broken invariant. */
const expectations: [what: string, mutant: new () => SimulatedStore, fault: RegExp][] = [
  ['accepts writes of a process that has lost the run', mutants.WithoutFences, /was accepted after/],
  ['gives a session to the run that came last', mutants.WithoutOrder, /^Run r\d got session id \d+ before run [rm]\d, which came earlier/],
  [
    'forgets that an approved call was started',
    mutants.WithoutStarts,
    /^The tool of run r\d was executed (?:2 times|with 0 starts in the ledger)/,
  ],
  ['records nothing about calls that were cut off', mutants.WithoutUnknownCalls, /^Run r\d has ended with 1 open starts in the ledger/],
  ['never finds the runs of lost processes', mutants.WithoutOrphans, /^After \d+ tasks, run r\d is/],
  ['loses the end of a cancelled run', mutants.WithoutCancellations, /cancel/],
  ['leaves reservations of lost processes behind', mutants.WithoutBudgetSettlement, /reservations are left after the sweep/],
  ['counts no reservations of other calls', mutants.WithoutBudgetReservations, /is committed to \d+, with a limit of \d+/],
  ['ends runs without an answer to their messages', mutants.WithoutContinuations, /^The message "plain m\d" to run r\d is 0 times/],
  ['forgets that a message was delivered', mutants.WithoutDeliveries, /is \d times in its session|has 2 questions/],
  ['loses answers', mutants.WithoutAnswers, /has ended without an answer/],
]

for (const [what, Mutant, fault] of expectations)
  test(`schedules find a database that ${what}`, async () => {
    const { counterexample } = await explore({ schedules: 8000, seed: 7, createStore: () => new Mutant(), maxShrinks: 0 })
    assert.match(counterexample?.faults[0] ?? 'No schedule has found the fault.', fault)
  })
