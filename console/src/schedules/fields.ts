import { AgentCoreError } from '../../../client/src/index.ts'
import { messageOf } from '../api/errors.ts'

/** Labels of the fields of the form, by the names of the interface. */
const labels: Readonly<Record<string, string>> = {
  at: 'Time',
  cron: 'Pattern',
  starts_at: 'Not before',
  ends_at: 'Not after',
  max_fires: 'Number of runs',
  catch_up: 'How late',
  timezone: 'Time zone',
  name: 'Name',
  callback_url: 'Webhook',
  jitter: 'Random delay',
  messages: 'Question',
  session: 'Conversation',
}

/** An error for the reader of the form: each fault with the label of its field. */
export function faultOf(error: unknown): string {
  const faults = error instanceof AgentCoreError ? (error.details.errors ?? []) : []
  if (faults.length === 0) return messageOf(error)
  return faults
    .map(({ loc, msg }) => `${labels[String(loc.find((part) => labels[part] !== undefined))] ?? loc.slice(1).join('.')}: ${msg}.`)
    .join(' ')
}
