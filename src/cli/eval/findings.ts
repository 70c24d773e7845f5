import type { ExperimentResult } from '../../../client/src/index.ts'
import { visible } from '../terminal.ts'

export type VariantResult = NonNullable<ExperimentResult['candidate']>

/** A result that a person should look at. */
export interface Finding {
  example_id: string
  name: string
  /** From 1. */
  repetition: number
  /** Writes that the recording does not have, lacks, or has with other arguments. */
  writes: string[]
  /** The first call that the recording cannot answer. */
  divergence: string | undefined
  /** Why the result has failed: an error, and scores. */
  faults: string[]
}

/** Characters of a value in a line. */
const maxValue = 300

/** The result of the variant that decides: the last one. */
export function lastOf({ candidate, baseline }: ExperimentResult): VariantResult | null {
  return candidate ?? baseline
}

export function toFinding(result: ExperimentResult): Finding {
  const { example_id, example_name: name, repetition } = result
  const example = { example_id, name: toLine(name), repetition }
  const last = lastOf(result)
  if (!last) return { ...example, writes: [], divergence: undefined, faults: ['There is no result.'] }
  const { effects, divergence, error, scores, outcome, is_equal: isEqual } = last
  return {
    ...example,
    writes: toWrites(effects),
    divergence: divergence ? toDivergence(divergence) : undefined,
    faults: [
      ...(error === null ? [] : [toLine(error)]),
      ...scores.filter(({ passed }) => !passed).map(toFault),
      ...(outcome !== 'passed' && isEqual === false ? ['The replay of the recorded replies is not equal to the run.'] : []),
    ],
  }
}

function toWrites({ added, changed, removed }: VariantResult['effects']): string[] {
  return [
    ...added.map(({ tool, tool_input: input }) => `+ ${toCall(tool, input)}`),
    ...changed.map(({ tool, before, after }) => `~ ${toCall(tool, before)} -> ${toLine(toJson(after))}`),
    ...removed.map(({ tool, tool_input: input }) => `- ${toCall(tool, input)}`),
  ]
}

const reasons: Record<string, string> = {
  no_recording: 'The recording has no such call',
  used_up: 'The recording has the call less often',
  tool_missing: 'The variant has no such tool',
  refused: 'The variant refuses the call',
  reply_missing: 'The recording has no further reply of the model',
  events_differ: 'The events are not those of the run',
}

function toDivergence({ reason, call }: NonNullable<VariantResult['divergence']>): string {
  const words = Object.hasOwn(reasons, reason) ? reasons[reason]! : toLine(reason)
  return call ? `${words}: ${toCall(call.tool, call.tool_input)}` : words
}

function toFault({ name, score, reason, required }: VariantResult['scores'][number]): string {
  const words = reason === undefined ? '' : `: ${toLine(reason)}`
  return `${toLine(name)} ${score}${required ? '' : ' (not required)'}${words}`
}

function toCall(tool: string, input: unknown): string {
  return `${toLine(tool)} ${toLine(toJson(input))}`
}

function toJson(value: unknown): string {
  return JSON.stringify(value) ?? 'null'
}

/** Text of a model or tool as one line that cannot control a terminal. */
export function toLine(text: string): string {
  const cut = text.length > maxValue ? `${text.slice(0, maxValue)}…` : text
  return visible(cut.replace(/\s+/g, ' ').trim())
}
