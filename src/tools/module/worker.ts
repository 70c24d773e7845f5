import process from 'node:process'
import { pathToFileURL } from 'node:url'
import type { ArtifactUse } from '../../agent/artifact.ts'
import type { ModuleArtifact, ModuleContext } from '../../tool-module.ts'
import { parseDefinition } from './definition.ts'
import { describeFault, describeLoadFault } from './fault.ts'
import { reportLoadedFiles } from './loaded-files.ts'
import type { FromModule, ToModule } from './messages.ts'
import { toJson } from './to-json.ts'
import { messageOf } from '../../errors.ts'

/** The process of one module: loads the module once, then executes any number of concurrent calls. */

/** Maximum log of a call, so that endless logging does not fill the memory of the service. */
const maxLogCharacters = 100_000
/** Protects the channel; the configured limit of the service is usually lower. */
const maxArtifactBytes = 256 * 1024 * 1024

interface OpenCall {
  aborting: AbortController
  logged: number
}

const files: string[] = []
const calls = new Map<number, OpenCall>()
const keeping = new Map<number, { resolve(artifact: ModuleArtifact): void; reject(error: Error): void }>()
let main = ''
let lastFile = 0
let execute: ReturnType<typeof parseDefinition>['execute'] | undefined

function send(message: FromModule, done?: () => void): void {
  if (process.connected) process.send?.(message, undefined, undefined, done)
}

async function load(path: string): Promise<void> {
  main = path
  reportLoadedFiles((file) => {
    files.push(file.path)
    send({ type: 'files', files: [file] })
  })
  let exported: unknown
  try {
    exported = ((await import(pathToFileURL(path).href)) as { default?: unknown }).default
  } catch (error) {
    return send({ type: 'failed', message: describeLoadFault(error, path, files) })
  }
  try {
    const parsed = parseDefinition(exported, path)
    execute = parsed.execute
    send({ type: 'loaded', definition: parsed.definition })
  } catch (error) {
    send({ type: 'failed', message: messageOf(error) })
  }
}

async function run({ call, input, context }: Extract<ToModule, { type: 'call' }>): Promise<void> {
  const open: OpenCall = { aborting: new AbortController(), logged: 0 }
  calls.set(call, open)
  try {
    const result = await execute?.(input, { ...context, ...contextOf(call, open) })
    send({ type: 'result', call, json: toJson(result) })
  } catch (error) {
    send({ type: 'error', call, message: describeFault(error, main) })
  } finally {
    calls.delete(call)
  }
}

function contextOf(call: number, open: OpenCall): Pick<ModuleContext, 'signal' | 'log' | 'artifact'> {
  return {
    signal: open.aborting.signal,
    log(text: unknown) {
      const line = String(text).slice(0, Math.max(0, maxLogCharacters - open.logged))
      open.logged += line.length + 1
      if (line !== '' && calls.has(call)) send({ type: 'log', call, text: line })
    },
    async artifact(name, mediaType, content, options) {
      const bytes = toBytes(content)
      if (typeof name !== 'string' || typeof mediaType !== 'string')
        throw new TypeError('artifact(name, type, bytes): name and type must be strings')
      const use = toUse(options)
      if (bytes.byteLength > maxArtifactBytes)
        throw new Error(`The file ${name} has ${bytes.byteLength} bytes, more than ${maxArtifactBytes}`)
      if (!calls.has(call)) throw new Error(`The file ${name} cannot be kept: its call has ended`)
      const file = ++lastFile
      return new Promise((resolve, reject) => {
        keeping.set(file, { resolve, reject })
        send({ type: 'artifact', call, file, name, mediaType, bytes, use })
      })
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

function receive(message: ToModule): void {
  switch (message.type) {
    case 'load':
      return void load(message.path)
    case 'call':
      return void run(message)
    case 'abort':
      send({ type: 'aborted', call: message.call })
      return calls.get(message.call)?.aborting.abort()
    case 'kept':
      keeping.get(message.file)?.resolve(message.artifact)
      return void keeping.delete(message.file)
    case 'refused':
      keeping.get(message.file)?.reject(new Error(message.message))
      keeping.delete(message.file)
  }
}

/** An unhandled error may have left the module in any state: the process ends, and the next call gets a new process. */
process.on('uncaughtException', (error: unknown) => {
  const message = execute ? describeFault(error, main) : describeLoadFault(error, main, files)
  if (!process.connected) process.exit(1)
  send({ type: 'crashed', message }, () => process.exit(1))
})
process.on('message', receive)
process.on('disconnect', () => process.exit(0))
