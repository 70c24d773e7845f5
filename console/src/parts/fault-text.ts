import { AgentCoreError } from '../../../client/src/index.ts'
import { messageOf } from '../api/errors.ts'

/** An error for the reader of a form: each fault with the label of its field, or else with its place. */
export function faultText(error: unknown, labels: Readonly<Record<string, string>> = {}): string {
  const faults = error instanceof AgentCoreError ? (error.details.errors ?? []) : []
  if (faults.length === 0) return messageOf(error)
  return faults
    .map(({ loc, msg }) => `${labels[String(loc.find((part) => labels[part] !== undefined))] ?? loc.slice(1).join('.')}: ${msg}.`)
    .join(' ')
}
