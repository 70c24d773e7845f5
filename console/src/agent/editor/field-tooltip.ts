import { hoverTooltip, type Tooltip } from '@codemirror/view'
import { placeAt } from '../schema/cursor.ts'
import { describe, shown } from '../schema/fields.ts'
import { schemasAt, type SchemaNode } from '../schema/schema-node.ts'

/** Explains the field under the pointer: kind, meaning and default. */
export function explainFields(schema: SchemaNode) {
  return hoverTooltip((view, offset): Tooltip | null => {
    const text = view.state.doc.toString()
    const position = placeAt(text, offset)
    if (position?.kind !== 'key') return null
    const name = text.slice(position.from, position.to)
    const { detail, description, default: fallback } = describe(schemasAt(schema, position.data, [...position.path, name]))
    const lines = [detail, description, fallback === undefined ? '' : `Default: ${shown(fallback).slice(0, 200)}`].filter(
      (line) => line !== '',
    )
    if (lines.length === 0) return null
    return {
      pos: position.from,
      end: position.to,
      above: true,
      create: () => ({ dom: toElement([`${name}: ${lines[0]}`, ...lines.slice(1)]) }),
    }
  })
}

function toElement(lines: readonly string[]): HTMLElement {
  const element = document.createElement('div')
  element.className = 'cm-field'
  for (const line of lines) element.appendChild(document.createElement('div')).textContent = line
  return element
}
