import { faultText } from '../parts/fault-text.ts'

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

/** An error for the reader of the form. */
export const faultOf = (error: unknown): string => faultText(error, labels)
