import { Type, type TSchema } from 'typebox'
import { reasoningEfforts } from '../../../agent/model.ts'
import type { AgentConfig } from '../../../configuration/schema.ts'
import { invalid } from '../../../errors.ts'

/** Parameters that chat completions and responses share, and the refusal of parameters without effect. */

export function maybe<T extends TSchema>(schema: T) {
  return Type.Optional(Type.Union([schema, Type.Null()]))
}

export const Effort = Type.Enum([...reasoningEfforts])

export const Reasoning = Type.Object(
  { effort: maybe(Effort), summary: maybe(Type.String()), generate_summary: maybe(Type.String()) },
  { description: 'How much the model reasons. With `summary`, its thoughts are shown: a response has them as `reasoning` items.' },
)

export const Verbosity = Type.Enum(['low', 'medium', 'high'], {
  description: 'The length of the answer, as an instruction for this run. Default: `medium`, which adds none.',
})

const verbosityTexts: Record<string, string> = {
  low: 'Answer as briefly as you can: only what the question asks for.',
  high: 'Answer in full detail.',
}

/** Instructions for a run: those of the request, and the wish for a length of the answer. */
export function toInstructions(instructions: string | null | undefined, verbosity: string | null | undefined): string | undefined {
  const wish = verbosityTexts[verbosity ?? '']
  return instructions && wish ? `${instructions}\n\n${wish}` : instructions || wish
}

/** By parameter: whether a value is refused, and the message. */
export type ParameterRules = Record<string, [isRefused: (value: unknown) => boolean, message: string]>

interface Allowed {
  /** The schemas of the parameters that have an effect. */
  known: Record<string, TSchema>
  rules?: ParameterRules
  config: AgentConfig
  path?: string[]
}

/** Throws for the first parameter that would have no effect. Unknown parameters are ignored where agent.yaml says so. */
export function refuseParameters(parameters: object, { known, rules = {}, config, path = [] }: Allowed): void {
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null || value === undefined) continue
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    if (rule?.[0](value)) throw unsupported([...path, name], rule[1])
    if (rule || Object.hasOwn(known, name) || config.openai.unknown_parameters === 'ignore') continue
    throw unsupported([...path, name], 'is not known; with `openai.unknown_parameters: ignore` in agent.yaml, it would be ignored')
  }
}

export function unsupported(path: (string | number)[], message: string): Error {
  return invalid(['body', ...path], message, 'unsupported_parameter')
}
