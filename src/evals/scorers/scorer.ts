import type { JsonSchema, JsonValue } from '../../agent/messages.ts'
import type { Effects } from '../effects.ts'

/** A measure of an answer, of its calls or of its cost. */
export type Scorer = ScorerTraits & ScorerKind

interface ScorerTraits {
  name: string
  /** From 0 to 1: a lower score fails. Default: 1. */
  threshold?: number
  /** True: a failed score fails the example. Default: true. */
  required?: boolean
}

export type ScorerKind =
  /** The answer is `expected`, or the field `output` of what the example expects. A value that is no text is compared as JSON. */
  | { kind: 'exact'; expected?: JsonValue; ignore_case?: boolean }
  /** The share of the texts that the answer contains; default: the field `contains` of what the example expects. */
  | { kind: 'contains'; texts?: string[]; ignore_case?: boolean }
  | { kind: 'regex'; pattern: string; ignore_case?: boolean }
  /** A value in the answer, such as `$.items[0].price`. Default: any value. */
  | { kind: 'json_path'; path: string; equals?: JsonValue }
  | { kind: 'schema'; schema: JsonSchema }
  /** The called tools; default: those of the recording. */
  | { kind: 'trajectory'; tools?: string[]; ordered?: boolean; inputs?: 'exact' | 'ignore' }
  /** The writes are those of the recording. */
  | { kind: 'effects' }
  | { kind: 'max_cost'; usd: number }
  | { kind: 'max_tokens'; tokens: number }
  /** Tool calls. */
  | { kind: 'max_steps'; steps: number }
  /** A model gives points from 0 to 10 by a rubric. */
  | { kind: 'judge'; model: 'small' | 'primary'; rubric: string; pass_mark?: number }

/** The results of a replay for scorers. */
export interface Subject {
  question: string
  output: string
  calls: readonly { tool: string; tool_input: JsonValue }[]
  /** The calls of the recording. */
  recordedCalls: readonly { tool: string; tool_input: JsonValue }[]
  effects: Effects
  /** USD; undefined where no model has a price. */
  cost: number | undefined
  tokens: number
  /** Values of the example. */
  expected: Readonly<Record<string, JsonValue>>
}

export interface Score {
  name: string
  kind: Scorer['kind']
  /** From 0 to 1. */
  score: number
  passed: boolean
  required: boolean
  /** Why the score is not 1. */
  reason?: string
  /** USD of the judge; absent for other scorers, and where its model has no price. */
  cost?: number
}

/** The measurement of a scorer. */
export interface Measured {
  score: number
  reason?: string
  cost?: number
}

export const whole: Measured = { score: 1 }

/** Characters of an answer that scorers read. */
export const maxScored = 200_000
