import type { TextForm, TextKind } from '../streamed-texts.ts'

/** A part of the UI message stream as a server-sent event. */
export function toPart(type: string, fields: object = {}): string {
  return `data: ${JSON.stringify({ type, ...fields })}\n\n`
}

/** A text of a run as a part that is streamed. */
export function toTextPart(kind: TextKind, number: number): TextForm {
  const id = String(number)
  return {
    opening: toPart(`${kind}-start`, { id }),
    delta: `data: {"type":"${kind}-delta","id":"${id}","delta":`,
    closing: toPart(`${kind}-end`, { id }),
  }
}
