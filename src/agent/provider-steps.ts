import { isDeeper, maxJsonDepth } from '../json/shape.ts'
import type { Emit, Step, StepStart } from './events.ts'
import type { Loop, LoopOptions } from './options.ts'
import type { JsonObject, JsonValue, Artifact, Taint } from './messages.ts'
import type { ModelEvent, ProviderCall, ModelFile, ModelReply, ModelSource } from './model.ts'
import type { Tool } from './tool.ts'
import { cut, maxStoredOutput } from './run-tool.ts'
import { joinTaints, marksOf, taintOfCall } from './taint.ts'
import { findTool, namesOf } from './tool-names.ts'

type CallEnd = Extract<ModelEvent, { type: 'call_end' }>

/** Steps of one model call that are published; further calls of the provider are not shown. */
export const maxProviderSteps = 128
/** Characters of a tool's name, where the tool is not one of the agent. */
const maxName = 128
const defaultCharacters = 20_000

/** The calls that the provider runs during one model call, as steps. The input and the output are only shown, never acted on. */
export class ProviderSteps {
  private readonly options: LoopOptions
  private readonly emit: Emit
  private open: Map<string, StepStart> | undefined
  private count = 0
  private brought: Taint | undefined

  constructor({ options, emit }: Loop) {
    this.options = options
    this.emit = emit
  }

  /** True while steps have no end. */
  get areOpen(): boolean {
    return this.open !== undefined && this.open.size > 0
  }

  /** Taint of the output of the calls. */
  get taint(): Taint | undefined {
    return this.brought
  }

  start({ id, name, input }: ProviderCall): Promise<void> | undefined {
    this.open ??= new Map()
    if (this.open.has(id) || this.count >= maxProviderSteps) return undefined
    this.count++
    const tool = this.toolOf(name)
    const { now, newId, subAgent, containment } = this.options
    const { trust, private: isPrivate, outbound } = marksOf(tool ?? {})
    const step: StepStart = {
      id: newId(),
      type: 'tool_call',
      tool: tool?.name ?? name.slice(0, maxName),
      input: toInput(input, tool),
      startedAt: now(),
      ...(subAgent === undefined ? {} : { subAgent }),
      ...(tool?.effect === 'write' ? { effect: tool.effect } : {}),
      ...(containment && { containment: { trust, private: isPrivate, outbound } }),
      isOfProvider: true,
    }
    this.open.set(id, step)
    this.brought = joinTaints(this.brought, taintOfCall(step.tool, marksOf(tool ?? {}), step.id))
    return this.emit({ type: 'step_start', step })
  }

  end({ call, output, isError }: CallEnd): Promise<void> | undefined {
    void this.start(call)
    const step = this.open?.get(call.id)
    if (!step) return undefined
    this.open?.delete(call.id)
    const tool = this.toolOf(call.name)
    const ended = { ...step, input: toInput(call.input, tool) }
    return this.publishEnd(ended, { output: bounded(output, tool), status: isError ? 'error' : 'success', log: isError ? failed : 'Done.' })
  }

  /** Ends the steps that the provider has left open. */
  close(reason: string): Promise<void> | undefined {
    const steps = [...(this.open?.values() ?? [])]
    this.open?.clear()
    let stored: Promise<void> | undefined
    for (const step of steps) stored = this.publishEnd(step, { output: { error: reason }, status: 'error', log: reason })
    return stored
  }

  private publishEnd(step: StepStart, end: Pick<Step, 'output' | 'status' | 'log'>): Promise<void> | undefined {
    return this.emit({ type: 'step_end', step: { ...step, ...end, durationMs: this.options.now() - step.startedAt } })
  }

  private toolOf(name: string): Tool | undefined {
    return findTool(namesOf(this.options.tools()), name)
  }
}

/** The taint of a reply. A provider may name the sources of a text without a call. */
export function taintOfReply(steps: ProviderSteps | undefined, sources: readonly ModelSource[] = []): Taint | undefined {
  const source = sources.find(({ url }) => url !== undefined)
  if (steps?.taint || !source) return steps?.taint
  const host = URL.parse(source.url ?? '')?.host
  return { sources: [{ tool: 'model', ...(host && { host }) }], isPrivate: false }
}

export const brokenOff = "The model's answer broke off."
export const withoutOutput = 'The provider reported no output of this call.'
const failed = 'The provider reported an error.'

function toInput(input: JsonValue, tool: Tool | undefined): JsonObject {
  const shown = bounded(input, tool)
  if (typeof shown === 'object' && shown !== null && !Array.isArray(shown)) return shown
  return shown === null || shown === '' ? {} : { input: shown }
}

/** A value within the limits of the tool's output. What is too long is cut, as text. */
function bounded(value: JsonValue, tool: Tool | undefined): JsonValue {
  if (isDeeper(value, maxJsonDepth)) return '[nested too deeply]'
  const limit = Math.min(tool?.maxOutputCharacters ?? defaultCharacters, maxStoredOutput)
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null)
  return text.length > limit ? cut(text, limit) : (value ?? null)
}

/** Sources of one reply that are kept. */
const maxSources = 50
const maxTitle = 300
const maxQuote = 2000
const maxUrl = 2048
/** Files of one reply that are kept. */
const maxFiles = 16

/** The sources of a reply within limits, with places in its text; undefined for none. A source without address and title says nothing. */
export function toSources({ sources = [], text }: Pick<ModelReply, 'sources' | 'text'>): ModelSource[] | undefined {
  const limited = sources.slice(0, maxSources).map((source) => toSource(source, text.length))
  const useful = limited.filter(({ url, title }) => url !== undefined || title !== '')
  return useful.length > 0 ? useful : undefined
}

function toSource({ url, title, text, start, end }: ModelSource, length: number): ModelSource {
  const range = start !== undefined && end !== undefined && start >= 0 && start < end && end <= length ? { start, end } : {}
  return {
    ...(isWebAddress(url) && { url }),
    title: shorten(title, maxTitle),
    ...(text !== undefined && text !== '' && { text: shorten(text, maxQuote) }),
    ...range,
  }
}

/** Clients make links of addresses, so no other scheme may pass. */
function isWebAddress(url: string | undefined): url is string {
  if (url === undefined || url.length > maxUrl) return false
  const protocol = URL.parse(url)?.protocol
  return protocol === 'https:' || protocol === 'http:'
}

function shorten(text: string, max: number): string {
  return text.slice(0, max).toWellFormed()
}

export interface ReplyFiles {
  artifacts: Artifact[]
  /** Why files are missing, a line for each. */
  faults: string[]
}

/** Keeps the files of a reply as artifacts, in order. Names count on from the earlier replies of the run. */
export async function keepFiles({ files = [], usage }: ModelReply, { keepArtifact, messages, signal }: LoopOptions): Promise<ReplyFiles> {
  const result: ReplyFiles = { artifacts: [], faults: [] }
  let n = messages.reduce((count, message) => count + (message.role === 'assistant' ? (message.artifacts?.length ?? 0) : 0), 0)
  for (const file of files.slice(0, maxFiles)) {
    signal.throwIfAborted()
    try {
      const bytes = Buffer.from(file.data, 'base64')
      result.artifacts.push(await keepArtifact({ name: nameOf(file, ++n), type: file.mediaType, bytes, tool: usage.model }))
    } catch (error) {
      result.faults.push(error instanceof Error ? error.message : 'A file could not be kept.')
    }
  }
  if (files.length > maxFiles) result.faults.push(`${files.length - maxFiles} further files were not kept.`)
  return result
}

const extensions: Readonly<Record<string, string>> = {
  'image/jpeg': 'jpg',
  'image/svg+xml': 'svg',
  'audio/mpeg': 'mp3',
  'audio/x-wav': 'wav',
  'video/quicktime': 'mov',
}

function nameOf({ mediaType }: ModelFile, n: number): string {
  const [kind = '', subtype = ''] = mediaType.toLowerCase().split(';', 1)[0]!.split('/')
  const extension = extensions[`${kind}/${subtype}`] ?? (/^[a-z0-9]{1,10}$/.test(subtype) ? subtype : 'bin')
  return `${['image', 'audio', 'video'].includes(kind) ? kind : 'file'}-${n}.${extension}`
}
