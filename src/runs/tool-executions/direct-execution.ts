import { createHash, hash } from 'node:crypto'
import { accessTo, permits } from '../../access/operations.ts'
import { callerKey, type Owner } from '../../access/owner.ts'
import type { Principal } from '../../access/principal.ts'
import type { Artifact, KeepArtifact, ReturnedFile } from '../../agent/artifact.ts'
import type { JsonObject } from '../../agent/messages.ts'
import { runTool, type DataFilter, type Tool, type ToolSet } from '../../agent/tool.ts'
import type { Bus } from '../../replicas/bus.ts'
import { scopeOf } from '../../agent/data-scope.ts'
import type { Agent, CurrentAgent } from '../../configuration/agent.ts'
import { ServiceError } from '../../errors.ts'
import { serviceStopping } from '../log/outcome.ts'
import { toGeneratedArtifact, type GeneratedArtifact } from '../../sessions/sessions.ts'
import { createRemoteExecutions, type AwaitedExecution } from './remote-execution.ts'
import type { ExecutionResult, ExecutionStore, StoredExecution } from './execution-store.ts'
import { checkHints, notReady, whenUnknown } from '../intake/hints.ts'
import { runKeyText, type RunKey } from '../run.ts'

export interface ToolRequest {
  requestId: string
  /** Whether the caller chose the request id: only then can it come again. */
  isRepeatable: boolean
  sessionId: string | undefined
  /** Should the caller have named none. */
  newSessionId: string
  bodyHash: string
  toolName: string
  input: JsonObject
  filters: DataFilter[]
  headers: Record<string, string>
  /** W3C `traceparent` of the caller. */
  traceparent?: string
}

export interface DirectExecutionDependencies {
  store: ExecutionStore
  agent: CurrentAgent
  /** Why nothing new is taken; undefined when it is. */
  refuse(): ServiceError | undefined
  /** A tool has ended, after so many seconds. */
  onExecuted(tool: string, status: 'success' | 'error', seconds: number): void
  holder: string
  now(): number
  newId(): string
  files: ExecutionFiles
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  bus: Bus
}

/** Port: files that tools make in direct executions; they are kept for a day, and belong to no session. */
export interface ExecutionFiles {
  /** Makes no folder before there is a file. */
  open(): { folder: string; keep: KeepArtifact }
  /** An address that hands out the file, for a short time. */
  link(folder: string, artifact: Artifact): Promise<string>
  /** The bytes of a kept file; undefined where they are gone. */
  read(folder: string, artifact: Artifact): Promise<Uint8Array | undefined>
}

export interface Executed {
  sessionId: string
  result: ExecutionAnswer
  /** Files that are part of what the tool returned. */
  returned: readonly ReturnedContent[]
}

/** A file that a tool returned, with an address that hands it out for a short time. */
export interface ReturnedContent extends ReturnedFile {
  link: string
  read(): Promise<Uint8Array | undefined>
}

/** The answer of `tool/execute`. */
export interface ExecutionAnswer extends Omit<ExecutionResult, 'files'> {
  /** `download_url` is absent where the caller's key permits no links to files. */
  generated_artifacts?: (GeneratedArtifact & { download_url?: string })[]
}

/** Tools that are run outside of any conversation. */
export interface DirectExecution {
  execute(who: Principal, request: ToolRequest, left: AbortSignal): Promise<Executed>
  /** Takes nothing new and waits for what runs, `ms` at most; what runs longer is stopped. */
  drain(ms: number): Promise<void>
}

interface Running extends AwaitedExecution {
  sessionId: string
  bodyHash: string
  result: Promise<ExecutionResult>
  stopping: AbortController
}

export function createDirectExecution({
  store,
  agent,
  refuse,
  onExecuted,
  holder,
  files,
  now,
  newId,
  sleep,
  bus,
}: DirectExecutionDependencies): DirectExecution {
  const running = new Map<string, Running>()
  const elsewhere = createRemoteExecutions({ bus, newId, sleep, find: (key) => running.get(runKeyText(key)) })
  let isStopping = false

  async function execute(who: Principal, request: ToolRequest, left: AbortSignal): Promise<Executed> {
    if (isStopping) throw serviceStopping()
    const current = agent()
    const release = current.hold()
    try {
      return await executeWith(current, who, request, left)
    } finally {
      release()
    }
  }

  async function executeWith({ tools: set, config }: Agent, who: Principal, request: ToolRequest, left: AbortSignal): Promise<Executed> {
    await set.settling()
    const tools = set.list().flatMap((listing): Tool[] => (listing.tool ? [listing.tool] : []))
    const tool = findTool(set, request)
    const key = { tenant: who.tenant, owner: who.owner, requestId: request.requestId }
    const answerOf = (one: Running) => answerTo(who, one, left)
    for (let earlier = running.get(runKeyText(key)); earlier; earlier = running.get(runKeyText(key))) {
      refuseOther(earlier, request)
      if (!earlier.stopping.signal.aborted) return answerOf(earlier)
      // It is being cut off, its callers are gone: who comes now finds what is left of it.
      await earlier.result.catch(() => undefined)
      forget(key, earlier)
    }
    const refusal = refuse()
    if (refusal) throw refusal
    const sessionId = request.sessionId ?? request.newSessionId
    const stopping = new AbortController()
    const one: Running = { sessionId, bodyHash: request.bodyHash, stopping, result: once(), ...countCallers(() => stopping.abort()) }
    running.set(runKeyText(key), one)
    try {
      return await answerOf(one)
    } finally {
      forget(key, one)
      elsewhere.ended(key)
    }

    async function once(): Promise<ExecutionResult> {
      if (!request.isRepeatable) return runOnce()
      const { bodyHash } = request
      const begin = () => store.begin({ ...key, sessionId, bodyHash, holder, agent: config.name, now: now() })
      let fence = 1
      for (let known = await begin(); known; known = await store.find(key)) {
        refuseOther(known, request)
        one.sessionId = known.sessionId
        if (known.result) return known.result
        if (known.holder !== undefined && known.holder !== holder) {
          await elsewhere.next(key, stopping.signal)
          if (stopping.signal.aborted) throw isStopping ? serviceStopping() : new ServiceError('cancelled', 'The caller has gone.')
          continue
        }
        // It was cut off inside of the tool: what only reads is done again, what writes never is.
        if (tool.effect === 'write') throw new ServiceError('process_lost', 'The outcome of this call is unknown; it was not repeated.')
        fence = known.fence + 1
        if (await store.takeOver(key, known.fence, holder)) break
      }
      const result = await runOnce()
      // Cut off with its callers: how it would have ended is not known, so a repeat finds no outcome.
      const isCutOff = stopping.signal.aborted && result.status === 'error'
      await store.finish(key, fence, isCutOff ? undefined : result, now())
      return result
    }

    async function runOnce(): Promise<ExecutionResult> {
      const nothing = { contextFiles: [], latestOutput: () => undefined }
      const context = {
        callId: request.isRepeatable ? callIdOf(key) : newId(),
        caller: { tenant: key.tenant, owner: key.owner },
        headers: request.headers,
        ...(request.traceparent !== undefined && { traceparent: request.traceparent }),
        session: conversationOf(key, sessionId),
        sessionId,
        ...nothing,
        ...scopeOf(tool, tools, request.filters),
      }
      const { folder, keep } = files.open()
      const outcome = await runTool(tool, request.input, { context, keepArtifact: keep, signal: stopping.signal, now })
      const status = outcome.isError ? 'error' : 'success'
      onExecuted(tool.name, status, outcome.durationMs / 1000)
      const { artifacts, returned } = outcome
      const made = artifacts.length > 0 ? { files: { folder, made: artifacts, ...(returned.length > 0 && { returned }) } } : {}
      return { tool_name: tool.name, output: outcome.output, execution_time: outcome.durationMs / 1000, status, ...made }
    }
  }

  function forget(key: RunKey, one: Running): void {
    if (running.get(runKeyText(key)) === one) running.delete(runKeyText(key))
  }

  /** Links are made anew for every answer: those of the first may have expired when it is asked for again. */
  async function answerTo(who: Principal, one: Running, left: AbortSignal): Promise<Executed> {
    const { sessionId, result } = await outcomeOf(one, left)
    const { files: kept, ...answer } = result
    if (!kept) return { sessionId, result: answer, returned: [] }
    const mayLink = permits(who, accessTo.linkArtifact)
    const links = mayLink ? await linksOf(kept) : new Map<string, string>()
    const described = kept.made.map((file) => {
      const url = links.get(file.id)
      return { ...toGeneratedArtifact(file), ...(url !== undefined && { download_url: url }) }
    })
    const returned = mayLink ? (kept.returned ?? []) : []
    const readable = returned.map((file): ReturnedContent => {
      const { artifact } = file
      return { ...file, link: links.get(artifact.id) ?? '', read: () => files.read(kept.folder, artifact) }
    })
    return { sessionId, result: { ...answer, generated_artifacts: described }, returned: readable }
  }

  async function linksOf({ folder, made }: NonNullable<ExecutionResult['files']>): Promise<Map<string, string>> {
    return new Map(await Promise.all(made.map(async (file): Promise<[string, string]> => [file.id, await files.link(folder, file)])))
  }

  async function drain(ms: number): Promise<void> {
    isStopping = true
    const done = new AbortController()
    const all = Promise.allSettled([...running.values()].map((one) => one.result)).finally(() => done.abort())
    await Promise.race([all, sleep(ms, done.signal).catch(() => undefined)])
    for (const one of running.values()) one.stopping.abort()
  }

  return { execute, drain }
}

/** Names the conversation of calls without a run, among those of all callers. */
function conversationOf(caller: Owner, sessionId: string): string {
  return `direct ${hash('sha256', `${callerKey(caller)}\n${sessionId}`, 'base64url')}`
}

/** Equal when the request comes again: what is done elsewhere under this id is done there once. A UUID (RFC 9562, version 8). */
function callIdOf(key: RunKey): string {
  const hash = createHash('sha256').update(runKeyText(key)).digest().subarray(0, 16)
  hash[6] = (hash[6]! & 0x0f) | 0x80
  hash[8] = (hash[8]! & 0x3f) | 0x80
  return hash.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function findTool(tools: ToolSet, { toolName, input, filters }: ToolRequest): Tool {
  const listings = tools.list()
  const listing = listings.find((one) => one.name === toolName)
  if (!listing) throw whenUnknown(toolName, listings, new ServiceError('not_found', `There is no tool ${toolName}.`))
  checkHints(filters, tools)
  if (!listing.tool) throw notReady(toolName, listing)
  if (listing.tool.approval)
    throw new ServiceError(
      'approval_required',
      `A call of ${toolName} needs the approval of a person: only the agent can ask for it, in a chat.`,
    )
  const fault = listing.tool.check(input)
  if (fault) throw new ServiceError('invalid_input', `tool_input: ${fault}.`)
  return listing.tool
}

/** Callers that wait for one; when the last has left it is stopped. */
function countCallers(stop: () => void): AwaitedExecution {
  let callers = 0
  return {
    enter() {
      callers++
      return () => {
        callers--
        if (callers === 0) stop()
      }
    },
  }
}

/** The session last: that of a repeat is known when its first outcome is. */
async function outcomeOf(one: Running, left: AbortSignal): Promise<{ sessionId: string; result: ExecutionResult }> {
  const leave = one.enter()
  if (left.aborted) leave()
  else left.addEventListener('abort', leave, { once: true })
  const result = await one.result
  return { sessionId: one.sessionId, result }
}

function refuseOther(earlier: Pick<StoredExecution, 'bodyHash' | 'sessionId'> & { operation?: string }, request: ToolRequest): void {
  const isSame = earlier.bodyHash === request.bodyHash && (earlier.operation ?? 'tool_execute') === 'tool_execute'
  if (isSame && (request.sessionId === undefined || request.sessionId === earlier.sessionId)) return
  throw new ServiceError('request_id_reused', `The request id ${request.requestId} was used for another request.`)
}
