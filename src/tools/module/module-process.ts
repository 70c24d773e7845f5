import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import type { ToolContext } from '../../agent/tool.ts'
import type { ArtifactUse, JsonObject, JsonSchema, JsonValue } from '../../agent/messages.ts'
import { messageOf } from '../../errors.ts'
import { Worker, WorkerLost } from '../../processes/worker.ts'
import type { ModuleArtifact, ModuleFilter } from '../../tool-module.ts'
import type { FileMark } from './module-files.ts'

/** The validated definition of a module, with which the process of the module becomes ready. */
export interface ModuleDefinition {
  description: string
  schema: JsonSchema
  filters: boolean
  effect: 'read' | 'write'
}

/** A call of the module, as a question to its process. */
export interface ModuleCall {
  input: JsonObject
  context: { callId: string; session: string; headers: Readonly<Record<string, string>>; filters: readonly ModuleFilter[] }
}

export type ModuleAnswer = { json: string } | { error: string }

/** A request of the module during a call. A file has a response. */
export type ModuleRequest = { log: string } | { name: string; mediaType: string; bytes: Uint8Array; use: ArtifactUse }

export type FileResponse = { artifact: ModuleArtifact } | { refusal: string }

export interface ModuleLimits {
  /** Milliseconds from the start of the process until the module must be loaded. */
  loadMs: number
  /** Milliseconds between the abort of a call and the end of the process, where the call has not stopped. */
  graceMs: number
}

/** A module in a process of its own, for any number of calls at a time. */
export type ModuleProcess = Worker<ModuleCall, ModuleAnswer, ModuleDefinition>

interface ModuleProcessOptions {
  path: string
  cwd: string
  env: Record<string, string>
  limits: ModuleLimits
  /** Receives files that were loaded or not found; a change of a file reloads the module. */
  onFiles(files: FileMark[]): void
  /** Receives the lines of standard output and of standard error. */
  onOutput(line: string, isError: boolean): void
}

/** Memory limits: generous for the work of a tool, and too small to hurt the machine. */
const memory = { dataKb: 2_000_000, heapMb: 768 }
/** A result has at most 10,000,000 characters, a file at most 256 MiB. */
const messages = { structure: 24 * 1024 * 1024, bytes: 256 * 1024 * 1024 }
const nodeFlags = ['--disable-warning=ExperimentalWarning', '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON']

/**
 * Runs a module in a process of its own. A thread would start faster (30 ms instead of 80) and take less memory, but cannot be contained: an
 * array of a gigabyte, or a native package that fails, ends the whole service with the thread, whatever `resourceLimits` say.
 */
export function startModule({ path, cwd, env, limits, onFiles, onOutput }: ModuleProcessOptions): ModuleProcess {
  const worker: ModuleProcess = new Worker({
    module: new URL('./worker', import.meta.url),
    args: [path],
    limits: memory,
    env,
    cwd,
    nodeFlags,
    messages,
    isForeign: true,
    readyMs: limits.loadMs,
    onNotice: (files) => Array.isArray(files) && onFiles(files as FileMark[]),
  })
  const { stdout, stderr } = worker.output
  if (stdout) readLines(stdout, (line) => onOutput(line, false))
  if (stderr) readLines(stderr, (line) => onOutput(line, true))
  return worker
}

/** Calls the module. Rejects with an `Error` for a model. */
export async function callModule(process: ModuleProcess, input: JsonObject, context: ToolContext, graceMs: number): Promise<JsonValue> {
  const { signal, callId, sessionId, headers } = context
  const filters = context.filters.map(({ key, type, value }) => ({ key, type, value }))
  const call = { input, context: { callId, session: sessionId, headers, filters } }
  const serve = (request: unknown) => serveModule(request as ModuleRequest, context)
  const answer = await process.ask(call, { signal, graceMs, serve }).catch((error: unknown) => {
    throw error instanceof WorkerLost ? toCallError(error) : error
  })
  if ('error' in answer) throw new Error(answer.error)
  return JSON.parse(answer.json) as JsonValue
}

async function serveModule(request: ModuleRequest, context: ToolContext): Promise<FileResponse | undefined> {
  if ('log' in request) {
    context.log(request.log)
    return undefined
  }
  const { name, mediaType, bytes, use } = request
  try {
    const { id, name: storedName, type, size, sha256 } = await context.artifact(name, mediaType, bytes, use)
    return { artifact: { id, name: storedName, type, size, sha256 } }
  } catch (error) {
    return { refusal: `The file ${name} cannot be kept: ${messageOf(error)}` }
  }
}

function toCallError(loss: WorkerLost): Error {
  const reason = loss.reason === 'stopped' ? 'another call of the tool did not stop when its time was up' : loss.message
  return new Error(`The process of the tool has ended: ${reason}. The next call has a new one.`, { cause: loss })
}

const maxLineCharacters = 4_000
/** Further lines are only counted. */
const maxLinesPerSecond = 100
/** Reading pauses until the next second after this amount: reading endless output would delay the calls. */
const maxBytesPerSecond = 1024 * 1024
const windowMs = 1_000

/** Reads the output of a process line by line, with limits for lines and bytes per second. */
export function readLines(stream: Readable, log: (line: string) => void): void {
  const decoder = new StringDecoder()
  let rest = ''
  let windowStart = -Infinity
  let logged = 0
  let leftOut = 0
  let bytesRead = 0

  function beginWindow(): void {
    if (leftOut > 0) log(`[${leftOut} lines left out]`)
    windowStart = performance.now()
    logged = leftOut = bytesRead = 0
  }

  function line(text: string): void {
    if (logged++ < maxLinesPerSecond) log(text.slice(0, maxLineCharacters))
    else leftOut++
  }

  function wait(): void {
    stream.pause()
    setTimeout(() => stream.resume(), Math.max(0, windowStart + windowMs - performance.now())).unref()
  }

  stream.on('data', (bytes: Buffer) => {
    if (performance.now() - windowStart >= windowMs) beginWindow()
    bytesRead += bytes.length
    const lines = (rest + decoder.write(bytes)).split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) if (text !== '') line(text)
    if (rest.length > maxLineCharacters) {
      line(rest)
      rest = ''
    }
    if (bytesRead > maxBytesPerSecond) wait()
  })
  stream.on('end', () => {
    if (rest !== '') line(rest)
    beginWindow()
  })
  // A broken pipe delivers no more data.
  stream.on('error', () => undefined)
}
