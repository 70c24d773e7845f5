import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ToolModule } from '../../tool-module.ts'
import type { ModuleDefinition } from './module-process.ts'
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

/** Describes a failed load: `mine.ts:12: Expression expected`. `main` is the path of the module, `files` are the files loaded so far. */
export function describeLoadFault(error: unknown, main: string, files: readonly string[]): string {
  const position = positionOfMissing(error, files) ?? positionOf(error) ?? positionOfSyntax(error, files)
  return `${position ? toText(position, main) : path.basename(main)}: ${messageOf(error, main)}`
}

/** Describes a failed call or an unhandled error: `The disk is full (mine.ts:12)`. */
export function describeFault(error: unknown, main: string): string {
  const position = positionOf(error)
  const message = messageOf(error, main)
  return position ? `${message} (${toText(position, main)})` : message
}

/** The number of the first line that matches, from 1; undefined when no line matches or the file cannot be read. */
function findLine(file: string, pattern: RegExp): number | undefined {
  try {
    const index = readFileSync(file, 'utf8')
      .split('\n')
      .findIndex((line) => pattern.test(line))
    return index === -1 ? undefined : index + 1
  } catch {
    return undefined
  }
}

interface SourcePosition {
  file: string
  line: number
}

const ownFolder = path.join(import.meta.dirname, '../..') + path.sep

/** The first stack frame in a file of the author. Frames of Node, packages and the service are skipped: the author cannot fix them. */
function positionOf(error: unknown): SourcePosition | undefined {
  if (!(error instanceof Error) || typeof error.stack !== 'string') return undefined
  for (const line of error.stack.split('\n')) {
    // A syntax error starts with `<path>:<line>`; a stack frame also has a column, and brackets around the position of a named function.
    const [, url, plain, number] = /(?:(file:\/\/[^\s()]+?)|(?:^| |\()(\/[^()]+?)):(\d+)(?::\d+)?\)?$/.exec(line) ?? []
    const file = url === undefined ? plain : toPath(url)
    if (file !== undefined && !file.includes('/node_modules/') && !file.startsWith(ownFolder)) return { file, line: Number(number) }
  }
  return undefined
}

/** The position of an import that failed, found by searching the importing file for the name. */
function positionOfMissing(error: unknown, files: readonly string[]): SourcePosition | undefined {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_MODULE_NOT_FOUND') return undefined
  const [, name, importer] = /^Cannot find (?:module|package) '(.+)' imported from (.+)$/.exec(error.message) ?? []
  if (name === undefined || importer === undefined || !files.includes(importer)) return undefined
  const line = findLine(importer, new RegExp(`['"\`][^'"\`]*${RegExp.escape(path.basename(name))}['"\`/]`))
  return line === undefined ? undefined : { file: importer, line }
}

/** The position of a syntax error: Node reports no line for JavaScript files, but the type stripper does. */
function positionOfSyntax(error: unknown, files: readonly string[]): SourcePosition | undefined {
  if (!(error instanceof SyntaxError)) return undefined
  for (const file of files.filter((name) => /\.[cm]?js$/.test(name))) {
    try {
      stripTypeScriptTypes(readFileSync(file, 'utf8'), { sourceUrl: file })
    } catch (syntax) {
      const [, line] = (syntax instanceof Error && /:(\d+)\n/.exec(syntax.stack ?? '')) || []
      if (line !== undefined) return { file, line: Number(line) }
    }
  }
  return undefined
}

function toPath(url: string): string | undefined {
  try {
    return fileURLToPath(url)
  } catch {
    return undefined
  }
}

function toText({ file, line }: SourcePosition, main: string): string {
  return `${path.relative(path.dirname(main), file)}:${line}`
}

/** The message with the message of its cause, such as the reason of a failed fetch. The folder of the module is removed from the text. */
function messageOf(error: unknown, main: string): string {
  if (!(error instanceof Error)) return typeof error === 'string' ? error : 'a value that is not an Error was thrown'
  const cause = error.cause instanceof Error && error.cause.message ? `: ${error.cause.message}` : ''
  return `${error.message.split('\n', 1)[0] || error.name}${cause}`.replaceAll(path.dirname(main) + path.sep, '')
}
