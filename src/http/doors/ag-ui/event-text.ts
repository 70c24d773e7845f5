import type { AGUIEvent } from '@ag-ui/core'

/** The fields of each event by its name. */
type Events = { [E in AGUIEvent as `${E['type']}`]: Omit<E, 'type'> }

/** An event of AG-UI as a server-sent event. */
export function toEvent<N extends keyof Events>(type: N, fields: Events[N]): string {
  return `data: ${JSON.stringify({ type, ...fields })}\n\n`
}
