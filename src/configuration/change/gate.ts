import type { Logger } from 'pino'
import { ServiceError } from '../../errors.ts'
import { hashOf } from '../hash.ts'
import type { AgentConfig } from '../schema.ts'
import { changedSkills, type SkillPins } from '../skills/pins.ts'
import type { ConfigContent } from './change.ts'

/** The newest completed experiment of a configuration on the dataset of a gate. */
export interface GateExperiment {
  id: string
  /** Results that were due and do not exist: those of deleted sessions. */
  missing: number
  /** Undefined for an experiment without results. */
  passRate: number | undefined
  /** Writes that the recordings do not have, added or changed. */
  added: number
  /** Replays that the dataset of today asks for and that the experiment does not have. They count as not passed. */
  untried: number
  /** Replays in which a call was told that there is no recording. They count as not passed, because production answers such a call. */
  missed: number
  /** True where a scorer of the dataset is not among those of the experiment. */
  lacksScorers: boolean
  /** Epoch milliseconds. */
  endedAt: number
}

export interface GateEvidence {
  /** Examples of the dataset today. */
  examples: number
  experiment: GateExperiment | undefined
}

/** Port: what the experiments of the administrators' tenant say about a configuration. Undefined for an unknown dataset. */
export type FindEvidence = (dataset: string, configHash: string) => Promise<GateEvidence | undefined>

/** Why a configuration must not come into use. */
export interface GateRefusal {
  configHash: string
  dataset: string
  experiment: GateExperiment | undefined
  reason: string
  /** The skills and modules whose files are not those of the running configuration. */
  files: readonly string[]
}

/** A caller's reason to use a configuration that the gate has refused. */
export interface GateOverride {
  reason: string
  refusal: GateRefusal
}

/** Configurations in written form and in use. */
interface GatedState {
  readonly stored: Pick<ConfigContent, 'config'>
  readonly used: Pick<ConfigContent, 'config'>
  /** The files of the configuration in use. */
  readonly pins: SkillPins | undefined
}

/** Judges the step from the running configuration to the next. Undefined: the next may come into use. */
export type Gate = (running: GatedState, next: GatedState) => Promise<GateRefusal | undefined>

interface GateDependencies {
  find: FindEvidence
  now(): number
}

/**
 * The gate of the running configuration decides, so that no change removes the gate unseen. Configurations that are in use, or stored for the
 * next start, need no experiment. Without a gate nothing is read.
 */
export function createGate({ find, now }: GateDependencies): Gate {
  return async (running, next) => {
    const rules = running.used.config.releases?.gate
    if (!rules) return undefined
    const files = changedSkills(running.pins, next.pins)
    for (const configHash of hashesToTry(running, next)) {
      const evidence = await find(rules.dataset, configHash)
      const reason = findReason(rules, evidence, now())
      if (reason !== undefined) return { configHash, dataset: rules.dataset, experiment: evidence?.experiment, reason, files }
    }
    return undefined
  }
}

/** A text that is stored already is judged with its files at the next start, and not again beside a change in memory. */
function hashesToTry(running: GatedState, next: GatedState): Set<string> {
  const hashesOf = (state: GatedState, pins?: SkillPins) => [state.used, state.stored].map(({ config }) => hashOf(config, pins))
  const known = hashesOf(running, running.pins)
  const used = hashOf(next.used.config, next.pins)
  const isStored = hashesOf(running).includes(hashOf(next.stored.config))
  const hashes = isStored ? [used] : [used, hashOf(next.stored.config, next.pins)]
  return new Set(hashes.filter((hash) => !known.includes(hash)))
}

const hourMs = 3_600_000

type GateRules = NonNullable<NonNullable<AgentConfig['releases']>['gate']>

function findReason(rules: GateRules, evidence: GateEvidence | undefined, now: number): string | undefined {
  const { dataset, min_pass_rate: minRate, max_added_writes: maxAdded, max_age_hours: maxHours } = rules
  const name = JSON.stringify(dataset)
  if (!evidence) return `the dataset ${name} does not exist`
  if (evidence.examples === 0) return `the dataset ${name} has no examples`
  const { experiment } = evidence
  if (!experiment) return `no experiment on the dataset ${name} has tried this configuration`
  const { missing, passRate = 0, added, untried, missed, lacksScorers, endedAt } = experiment
  if (now - endedAt > maxHours * hourMs) return `the experiment ended more than ${maxHours} h ago (max_age_hours)`
  if (lacksScorers) return `the experiment has not measured what the scorers of the dataset ${name} measure today`
  if (missing > 0) return `${missing} of the replays ${missing === 1 ? 'has' : 'have'} no result: run the experiment again`
  if (passRate < minRate) {
    const causes = [
      untried > 0 && `${untried} that the dataset asks for today`,
      missed > 0 && `${missed} with a call that has no recording`,
    ]
    const uncounted = causes.filter((cause) => cause !== false).join(' and ')
    const advice = uncounted === '' ? '' : `; replays that count as not passed: ${uncounted}`
    return `the pass rate is ${passRate}, and must be at least ${minRate} (min_pass_rate)${advice}`
  }
  if (added > maxAdded) return `the number of added or changed writes is ${added}, and must be at most ${maxAdded} (max_added_writes)`
  return undefined
}

/** A sentence for people. `subject`: what the gate has refused. */
export function describeRefusal({ reason, configHash, files }: GateRefusal, subject = 'The change'): string {
  const changed = files.length === 0 ? '' : ` Files have changed: ${files.join(', ')}.`
  return `${subject} has not passed the gate (releases.gate): ${reason}.${changed} The hash of the configuration is ${configHash}.`
}

/** Part of a recorded version. Empty where the gate has not refused. Throws `gate_not_passed` for a refusal without a reason to override. */
export function overrideOrThrow(
  refusal: GateRefusal | undefined,
  reason: string | undefined,
  subject?: string,
): { override?: GateOverride } {
  if (!refusal) return {}
  if (reason === undefined) throw gateNotPassed(refusal, subject)
  return { override: { reason, refusal } }
}

/** Logs a change. An override is logged whether or not the ledger has the change. */
export function logChange(log: Logger, message: string, fields: object, override: GateOverride | undefined): void {
  if (!override) return log.info(fields, message)
  log.warn(
    { ...fields, override: override.reason, gate: toDetails(override.refusal) },
    `${message}, although the change has not passed the gate`,
  )
}

function gateNotPassed(refusal: GateRefusal, subject?: string): ServiceError {
  const dataset = JSON.stringify(refusal.dataset)
  const advice = `Nothing was changed. Run an experiment on ${dataset} with the change as its candidate, or override the gate with a reason.`
  return new ServiceError('gate_not_passed', `${describeRefusal(refusal, subject)} ${advice}`, { details: toDetails(refusal) })
}

/** Fields of the error, and of the event in the ledger. */
export function toDetails({ configHash, dataset, experiment, reason, files }: GateRefusal) {
  return {
    config_hash: configHash,
    dataset,
    ...(files.length > 0 && { files: [...files] }),
    ...(experiment && {
      experiment: {
        id: experiment.id,
        pass_rate: experiment.passRate ?? null,
        added: experiment.added,
        ended_at: new Date(experiment.endedAt).toISOString(),
      },
    }),
    reason,
  }
}
