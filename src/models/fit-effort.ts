import { reasoningEfforts, type ReasoningEffort } from '../agent/model.ts'

/** The least accepted effort that is not below the wanted effort, or else the greatest; undefined where no effort is accepted. */
export function fitEffort(effort: ReasoningEffort | undefined, accepted: readonly ReasoningEffort[]): ReasoningEffort | undefined {
  if (effort === undefined) return undefined
  return accepted.find((candidate) => reasoningEfforts.indexOf(candidate) >= reasoningEfforts.indexOf(effort)) ?? accepted.at(-1)
}
