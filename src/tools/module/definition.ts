import path from 'node:path'
import type { ToolModule } from '../../tool-module.ts'
import { findLine } from './fault.ts'
import type { ModuleDefinition } from './messages.ts'
import { isObject } from '../../json/shape.ts'

const fields = ['description', 'schema', 'filters', 'effect', 'execute'] as const

type Field = (typeof fields)[number]

/** Validates the default export of a file as a tool. Throws an `Error` with file, line and field. */
export function parseDefinition(exported: unknown, file: string): { definition: ModuleDefinition; execute: ToolModule['execute'] } {
  if (exported === undefined) {
    throw new Error(
      `${path.basename(file)}: it has no default export; it needs "export default defineTool({description, schema, execute})"`,
    )
  }
  if (!isObject(exported)) throw faultOf(file, undefined, 'the default export is not an object {description, schema, execute}')
  const unknown = Object.keys(exported).find((key) => !fields.includes(key as Field))
  if (unknown !== undefined) throw faultOf(file, unknown, `${unknown} is not a field of a tool; the fields are ${fields.join(', ')}`)
  const { description, schema, filters = false, effect = 'write', execute } = exported
  if (typeof description !== 'string' || description.trim() === '')
    throw faultOf(file, 'description', 'description must be a non-empty string')
  if (!isObject(schema) || schema['type'] !== 'object') {
    throw faultOf(file, 'schema', "schema must be a JSON Schema of an object: {type: 'object', properties: {...}}")
  }
  if (typeof filters !== 'boolean') throw faultOf(file, 'filters', 'filters must be true or false')
  if (effect !== 'read' && effect !== 'write') throw faultOf(file, 'effect', "effect must be 'read' or 'write'")
  if (typeof execute !== 'function') throw faultOf(file, 'execute', 'execute must be a function (input, context)')
  return {
    definition: { description, schema: toPlainSchema(schema, file), filters, effect },
    execute: (input, context) => execute.call(exported, input, context) as unknown,
  }
}

/** An error that names the line of a field. */
export function faultOf(file: string, field: string | undefined, message: string): Error {
  const line =
    (field === undefined ? undefined : findLine(file, new RegExp(`(^|[\\s{,])(async\\s+)?['"]?${RegExp.escape(field)}['"]?\\s*[:(,}]`))) ??
    findLine(file, /^\s*export\s+default\b|\bas\s+default\b/)
  return new Error(`${path.basename(file)}${line === undefined ? '' : `:${line}`}: ${message}`)
}

/** The schema as sent to models, without `$schema`: inputs are always checked by the same dialect. */
function toPlainSchema(schema: Record<string, unknown>, file: string): Record<string, unknown> {
  try {
    const { $schema: _, ...plain } = JSON.parse(JSON.stringify(schema)) as Record<string, unknown>
    return plain
  } catch (error) {
    throw faultOf(
      file,
      'schema',
      `schema cannot be written as JSON: ${error instanceof Error ? error.message.split('\n', 1)[0] : 'it is not'}`,
    )
  }
}
