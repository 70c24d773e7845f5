import { formatAmounts } from '../../parts/budget/amounts.ts'
import { formatCost } from '../../parts/format-cost.ts'
import { formatDuration } from '../../parts/time-format.ts'
import type { Span } from '../queries.ts'

const whole = new Intl.NumberFormat('en')

/** Text after the name of a span in the row: the few most wanted facts. */
export function noteOf({ kind, status, attributes }: Pick<Span, 'kind' | 'status' | 'attributes'>): string {
  if (kind === 'budget') return attributes.needed ? `cannot pay ${formatAmounts(attributes.needed)}` : ''
  const parts = kind === 'model' ? modelNotes(attributes) : kind === 'approval' || kind === 'wait' ? waitNotes(attributes) : []
  if (kind === 'move') parts.push(attributes.cause?.replace('_', ' ') ?? '')
  if (kind === 'tool' && attributes.effect === 'write') parts.push('write')
  if (attributes.containment) parts.push(attributes.containment === 'refuse' ? 'refused by containment' : 'held by containment')
  if (status !== 'success' && status !== 'running') parts.push(attributes.error_type ?? status)
  return parts.filter((part) => part !== '').join(' · ')
}

function modelNotes({
  input_tokens: input,
  output_tokens: output,
  cost,
  time_to_first_token: first,
  ...rest
}: Span['attributes']): string[] {
  const failures = rest.attempts?.filter(({ status }) => status === 'error').length ?? 0
  return [
    typeof input === 'number' && typeof output === 'number' ? `${whole.format(input)} → ${whole.format(output)} tokens` : '',
    typeof cost === 'number' ? formatCost(cost) : '',
    typeof first === 'number' ? `first token ${formatDuration(first * 1000)}` : '',
    failures > 0 ? `${failures} failed attempt${failures === 1 ? '' : 's'}` : '',
    rest.fallback ? 'fallback' : '',
  ]
}

function waitNotes({ decision, for: reason }: Span['attributes']): string[] {
  const decisions = { approve: 'approved', reject: 'rejected', extend: 'extended', lapsed: 'expired' } as const
  const reasons = {
    queue: 'for its session',
    approval: 'for an approval',
    budget: 'for a budget',
    client_tool: 'for its client',
    reader: 'for a reader',
  } as const
  return [decision ? decisions[decision] : '', reason ? reasons[reason] : '']
}
