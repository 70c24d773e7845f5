import process from 'node:process'
import { pathToFileURL } from 'node:url'
import type { ArtifactUse } from '../../agent/messages.ts'
import { messageOf } from '../../errors.ts'
import { sendToService, serveQuestions, type OpenQuestion } from '../../processes/serve-questions.ts'
import type { ModuleContext } from '../../tool-module.ts'
import { describeFault, describeLoadFault, parseDefinition } from './definition.ts'
import { reportLoadedFiles } from './module-files.ts'
import type { FileResponse, ModuleAnswer, ModuleCall, ModuleRequest } from './module-process.ts'

/** The process of a module, whose path is the argument. Loads the module once, then executes any number of concurrent calls. */

/** Maximum log of a call, so that endless logging does not fill the memory of the service. */
const maxLogCharacters = 100_000
/** Protects the channel; the configured limit of the service is usually lower. */
const maxArtifactBytes = 256 * 1024 * 1024

/** Maximum characters of a result; larger data must be kept as an artifact. */
const maxJsonCharacters = 10_000_000

const [main = ''] = process.argv.splice(2)
const files: string[] = []
let execute: ReturnType<typeof parseDefinition>['execute'] | undefined

async function load(): Promise<void> {
  reportLoadedFiles((file) => {
    files.push(file.path)
    sendToService({ notice: [file] })
  })
  let exported: unknown
  try {
    exported = ((await import(pathToFileURL(main).href)) as { default?: unknown }).default
  } catch (error) {
    return end(describeLoadFault(error, main, files))
  }
  try {
    const parsed = parseDefinition(exported, main)
    execute = parsed.execute
    serveQuestions(run, { ready: parsed.definition, confirmsCancel: true })
  } catch (error) {
    end(messageOf(error))
  }
}

/** Ends the process with a fault as its last message. */
function end(fault: string): void {
  if (!process.connected) process.exit(1)
  sendToService({ fault }, () => process.exit(1))
}

async function run({ input, context }: ModuleCall, question: OpenQuestion): Promise<ModuleAnswer> {
  const call = { isOpen: true }
  try {
    const result = await execute?.(input, { ...context, ...contextOf(call, question) })
    return { json: toJson(result) }
  } catch (error) {
    return { error: describeFault(error, main) }
  } finally {
    call.isOpen = false
  }
}

function contextOf(
  call: { isOpen: boolean },
  { signal, request, notify }: OpenQuestion,
): Pick<ModuleContext, 'signal' | 'log' | 'artifact'> {
  let logged = 0
  return {
    signal,
    log(text: unknown) {
      const line = String(text).slice(0, Math.max(0, maxLogCharacters - logged))
      logged += line.length + 1
      if (line !== '' && call.isOpen) notify({ log: line } satisfies ModuleRequest)
    },
    async artifact(name, mediaType, content, options) {
      const bytes = toBytes(content)
      if (typeof name !== 'string' || typeof mediaType !== 'string')
        throw new TypeError('artifact(name, type, bytes): name and type must be strings')
      const use = toUse(options)
      if (bytes.byteLength > maxArtifactBytes)
        throw new Error(`The file ${name} has ${bytes.byteLength} bytes, more than ${maxArtifactBytes}`)
      if (!call.isOpen) throw new Error(`The file ${name} cannot be kept: its call has ended`)
      const response = (await request({ name, mediaType, bytes, use } satisfies ModuleRequest)) as FileResponse
      if ('refusal' in response) throw new Error(response.refusal)
      return response.artifact
    },
  }
}

function toUse(options: unknown): ArtifactUse {
  const { returned = false, uri } = Object(options) as Record<string, unknown>
  if (typeof returned !== 'boolean') throw new TypeError('artifact(name, type, bytes, options): returned must be true or false')
  if (uri !== undefined && typeof uri !== 'string') throw new TypeError('artifact(name, type, bytes, options): uri must be a string')
  return { isReturned: returned, ...(uri !== undefined && { uri }) }
}

function toBytes(content: unknown): Uint8Array {
  if (typeof content === 'string') return Buffer.from(content)
  if (ArrayBuffer.isView(content)) return new Uint8Array(content.buffer, content.byteOffset, content.byteLength)
  if (content instanceof ArrayBuffer) return new Uint8Array(content)
  throw new TypeError('artifact(name, type, bytes): bytes must be a Uint8Array, an ArrayBuffer or a string')
}

/**
 * Serialises a value as JSON. Throws for values that JSON cannot represent, with the path (`rows[3].total is a bigint`), instead of
 * dropping the value. Dates become ISO texts, undefined fields are left out, and undefined itself becomes null.
 */
function toJson(value: unknown): string {
  const json = JSON.stringify(toPlain(value, [], []) ?? null)
  if (json.length <= maxJsonCharacters) return json
  throw new Error(`The result has ${json.length} characters of JSON, more than ${maxJsonCharacters}: keep large data with context.artifact`)
}

type ValuePath = readonly (string | number)[]

function toPlain(value: unknown, path: ValuePath, ancestors: readonly object[]): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return value
    case 'number':
      if (Number.isFinite(value)) return value
      throw notJson(path, `is ${value}`)
    case 'object':
      return value === null ? null : toPlainObject(value, path, ancestors)
    default:
      throw notJson(path, `is a ${typeof value}`)
  }
}

function toPlainObject(value: object, path: ValuePath, ancestors: readonly object[]): unknown {
  if (ancestors.includes(value)) throw notJson(path, 'contains itself')
  const inside = [...ancestors, value]
  if ('toJSON' in value && typeof value.toJSON === 'function' && !Buffer.isBuffer(value)) return toPlain(value.toJSON(), path, inside)
  if (Array.isArray(value)) return value.map((element, index) => toPlain(element, [...path, index], inside) ?? null)
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) throw notJson(path, 'is bytes: keep them with context.artifact')
  if (value instanceof Map || value instanceof Set || value instanceof Promise) throw notJson(path, `is a ${value.constructor.name}`)
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, toPlain(part, [...path, key], inside)]))
}

function notJson(at: ValuePath, fault: string): Error {
  const path = at.map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`)).join('')
  return new Error(`The result cannot be written as JSON: ${path || 'it'} ${fault}`)
}

/** An unhandled error may have left the module in any state: the process ends, and the next call gets a new process. */
process.on('uncaughtException', (error: unknown) => end(execute ? describeFault(error, main) : describeLoadFault(error, main, files)))
void load()
