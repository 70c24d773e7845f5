import { startCompletion, type Completion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete'
import type { EditorView } from '@codemirror/view'
import { placeAt, type CursorPlace } from '../schema/cursor.ts'
import { fieldsAt, valuesAt, type FieldSuggestion, type Suggestion } from '../schema/fields.ts'
import type { SchemaNode } from '../schema/schema-node.ts'

/** Completes names of fields and listed values by the schema. */
export function completeBySchema(schema: SchemaNode) {
  return (context: CompletionContext): CompletionResult | null => {
    const position = placeAt(context.state.doc.toString(), context.pos)
    if (!position) return null
    const values = valuesAt(schema, position.data, position.path)
    // A list entry such as `- w` may become a field or a value; the schema decides.
    const fields = position.kind === 'key' ? fieldsAt(schema, position.data, position.path) : []
    const isTyped = position.from < context.pos
    if (!isTyped && !context.explicit && (position.kind === 'key' || values.length === 0)) return null
    const options = fields.length > 0 ? toFieldOptions(fields, position, indentOf(context)) : toValueOptions(values, position, context)
    return options.length === 0 ? null : { from: position.from, to: position.to, options, validFor: /^[\w.-]*$/ }
  }
}

function toFieldOptions(fields: readonly FieldSuggestion[], position: CursorPlace, indent: string): Completion[] {
  const missing = fields.filter(({ label }) => !position.siblings.includes(label))
  return missing.map((field) => ({
    ...infoOf(field),
    type: 'property',
    boost: field.isRequired ? 1 : 0,
    ...(!position.hasColon && { apply: insert(field.label + endOf(field, position, indent)) }),
  }))
}

/** Text after the name of a new field: the value begins on the same line, or below. */
function endOf({ type }: FieldSuggestion, { isFlow }: CursorPlace, indent: string): string {
  if (isFlow || (type !== 'object' && type !== 'array')) return ': '
  return `:\n${indent}  ${type === 'array' ? '- ' : ''}`
}

/** Indentation of the field at the cursor; dashes of list entries count as blanks. */
function indentOf({ state, pos }: CompletionContext): string {
  const line = state.doc.lineAt(pos).text
  return ' '.repeat(/^[ \t]*(?:- +)*/.exec(line)![0].length)
}

function toValueOptions(values: readonly Suggestion[], { from }: CursorPlace, { state }: CompletionContext): Completion[] {
  const isGlued = from > 0 && state.sliceDoc(from - 1, from) === ':'
  return values.map((value) => ({ ...infoOf(value), type: 'constant', ...(isGlued && { apply: ` ${value.label}` }) }))
}

function infoOf({ label, detail, description }: Suggestion): Completion {
  return {
    label,
    ...(detail && { detail: detail.length > 40 ? `${detail.slice(0, 39)}…` : detail }),
    ...(description && { info: description }),
  }
}

/** Inserts a text and opens the completions for the next position. */
function insert(text: string) {
  return (view: EditorView, _completion: Completion, from: number, to: number): void => {
    view.dispatch({ changes: { from, to, insert: text }, selection: { anchor: from + text.length }, userEvent: 'input.complete' })
    startCompletion(view)
  }
}
