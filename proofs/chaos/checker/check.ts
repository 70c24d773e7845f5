import type { Operation } from '../history/operations.ts'
import { checkConfiguration } from './configuration.ts'
import { checkEffects } from './effects.ts'
import { toFacts } from './facts.ts'
import { checkKeys } from './keys.ts'
import { checkLimits, type ConcurrencyLimits } from './limits.ts'
import { checkMemories } from './memories.ts'
import { checkReads } from './reads.ts'
import { checkRequests } from './requests.ts'
import { checkRuns } from './runs.ts'
import { checkSessions } from './sessions.ts'
import { checkStreams } from './streams.ts'

/** Checks a whole history. Returns the anomalies as texts, by property. */
export function check(history: readonly Operation[], limits: ConcurrencyLimits): Map<string, string[]> {
  const facts = toFacts(history)
  return new Map([
    ['sessions are append-only lists', checkSessions(facts)],
    ['reads do not go backwards', checkReads(facts)],
    ['streams are the final log', checkStreams(facts)],
    ['a request has one outcome', checkRequests(facts)],
    ['runs end, and callbacks arrive', checkRuns(facts)],
    ['writes are made at most once', checkEffects(facts)],
    ['the configuration is a register', checkConfiguration(facts)],
    ['revoked keys stop', checkKeys(facts)],
    ['limits hold', checkLimits(facts, limits)],
    ['memories stay until deleted', checkMemories(facts)],
  ])
}
