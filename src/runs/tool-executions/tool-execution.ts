import type { ToolProgress } from '../../agent/events.ts'
import type { DataFilter, Tool, ToolSet } from '../../agent/tool.ts'
import type { Artifact, ReturnedFile, KeepArtifact, JsonValue, JsonObject } from '../../agent/messages.ts'
import type { AuditEvent } from '../../audit/event.ts'
import type { RunKey } from '../run.ts'
import type { OpenCall, RunActs } from '../run-store.ts'
import { runKeyText } from '../ownership/run-registry.ts'
import { accessTo, permits, type Principal } from '../../access/permissions.ts'
import type { AnswerFile, ToAnswerFiles } from '../../artifacts/answer-files.ts'
import { createHash, hash } from 'node:crypto'
import { callerKey, type Owner } from '../../access/owner.ts'
import { ServiceError } from '../../errors.ts'
import { checkHints, notReady, whenUnknown } from '../intake/checks.ts'

/** Port: direct executions of tools that came with a request id of their caller's, so that a repeat runs nothing twice. */
export interface ExecutionStore {
  /** Stores the execution, or resolves to an earlier one with the request id. Throws `gone` where the session of the earlier one was deleted. */
  begin(execution: NewExecution): Promise<StoredExecution | undefined>
  find(key: RunKey): Promise<StoredExecution | undefined>
  /** Gives an execution without a result to the local process, with the next fence; false after a change of the row. */
  takeOver(key: RunKey, fence: number, holder: string): Promise<boolean>
  /** Keeps the first result; undefined for an execution that was cut off. Nothing after the deletion of the session, or under another process. */
  finish(key: RunKey, fence: number, end: ExecutionEnd): Promise<void>
  /** Ends executions whose process is lost for more than `graceMs`; ended executions have no result. */
  endLost(lost: LostExecutions): Promise<void>
}

export interface ExecutionEnd {
  result: ExecutionResult | undefined
  now: number
  acts?: RunActs | undefined
}

export interface LostExecutions {
  /** The process that looks. */
  holder: string
  graceMs: number
  now: number
  /** The events of a lost execution whose start is in the ledger. */
  toActs(key: RunKey, open: readonly OpenCall[]): readonly AuditEvent[]
}

export interface NewExecution extends RunKey {
  sessionId: string
  bodyHash: string
  holder: string
  agent: string
  now: number
  acts?: RunActs | undefined
}

export interface StoredExecution {
  operation: string
  sessionId: string
  bodyHash: string
  /** The process in which it runs, as far as is known; undefined where it has ended. */
  holder: string | undefined
  fence: number
  /** Undefined while it runs, and for ever where its process died. */
  result: ExecutionResult | undefined
}

/** How a direct execution ended. */
export interface ExecutionResult {
  tool_name: string
  output: JsonValue
  /** Seconds. */
  execution_time: number
  status: 'success' | 'error'
  /** Files that the tool made, and the folder that they are kept under; absent for none. */
  files?: { folder: string; made: Artifact[]; returned?: ReturnedFile[] }
}

/** Port: files that tools make in direct executions. The files are kept for a day and belong to no session. */
export interface ExecutionFiles {
  /** The folder is created with its first file. */
  open(): { folder: string; keep: KeepArtifact }
  toAnswerFiles: ToAnswerFiles
  /** The bytes of a kept file; undefined where the file was removed. */
  read(folder: string, artifact: Artifact): Promise<Uint8Array | undefined>
}

export interface Executed {
  sessionId: string
  result: ExecutionAnswer
  /** Files that are part of what the tool returned. */
  returned: readonly ReturnedContent[]
}

/** A file that a tool returned, with a URL that serves the file for a short time. */
export interface ReturnedContent extends ReturnedFile {
  link: string
  read(): Promise<Uint8Array | undefined>
}

/** The answer of `tool/execute`. */
export interface ExecutionAnswer extends Omit<ExecutionResult, 'files'> {
  generated_artifacts?: AnswerFile[]
}

/** The answer for one caller. Every answer gets new links: the links of the first answer may have expired when the request is repeated. */
export async function toAnswer(
  principal: Principal,
  { sessionId, result }: { sessionId: string; result: ExecutionResult },
  { toAnswerFiles, read }: Pick<ExecutionFiles, 'toAnswerFiles' | 'read'>,
): Promise<Executed> {
  const { files: keptFiles, ...answer } = result
  if (!keptFiles) return { sessionId, result: answer, returned: [] }
  const files = await toAnswerFiles(keptFiles, permits(principal, accessTo.linkArtifact))
  const links = new Map(files.map((file) => [file.artifact_id, file.download_url]))
  const returned = (keptFiles.returned ?? []).flatMap((file): ReturnedContent[] => {
    const link = links.get(file.artifact.id)
    return link === undefined ? [] : [{ ...file, link, read: () => read(keptFiles.folder, file.artifact) }]
  })
  return { sessionId, result: { ...answer, generated_artifacts: files }, returned }
}

export interface ToolRequest {
  requestId: string
  /** True where the caller chose the request id: only such a request can be repeated. */
  isRepeatable: boolean
  sessionId: string | undefined
  /** Id of the session when the caller named none. */
  newSessionId: string
  bodyHash: string
  toolName: string
  input: JsonObject
  filters: DataFilter[]
  headers: Record<string, string>
  /** W3C `traceparent` of the caller. */
  traceparent?: string
  /** Called with each line that the tool logs while this request runs the tool. */
  onLog?: (text: string) => void
  /** As `onLog`, with each report of progress. */
  onProgress?: (progress: ToolProgress) => void
}

/** The tool of a request, with its input checked. Throws where the tool is unknown, not ready, or needs an approval. */
export async function findTool(tools: ToolSet, { toolName, input, filters }: ToolRequest): Promise<Tool> {
  const listings = tools.list()
  const listing = listings.find(({ name }) => name === toolName)
  if (!listing) throw whenUnknown(toolName, listings, new ServiceError('not_found', `There is no tool ${toolName}.`))
  checkHints(filters, tools)
  if (!listing.tool) throw notReady(toolName, listing)
  if (listing.tool.provider)
    throw new ServiceError('invalid_input', `tool_name: ${toolName} runs at the provider of the model: only a model can use it, in a chat.`)
  if (listing.tool.approval)
    throw new ServiceError(
      'approval_required',
      `A call of ${toolName} needs the approval of a person: only the agent can ask for it, in a chat.`,
    )
  const fault = await listing.tool.check(input)
  if (fault) throw new ServiceError('invalid_input', `tool_input: ${fault}.`)
  return listing.tool
}

/** The key of the conversation that direct calls of a session share; no other caller has the same key. */
export function conversationOf(caller: Owner, sessionId: string): string {
  return `direct ${hash('sha256', `${callerKey(caller)}\n${sessionId}`, 'base64url')}`
}

/** The same UUID (RFC 9562, version 8) for every repeat of a request: a remote service that knows the id acts once. */
export function callIdOf(key: RunKey): string {
  const bytes = createHash('sha256').update(runKeyText(key)).digest().subarray(0, 16)
  bytes[6] = (bytes[6]! & 0x0f) | 0x80
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** A request id stands for one request: the same tool call in the same session, and no chat. */
export function refuseOther(earlier: Pick<StoredExecution, 'bodyHash' | 'sessionId'> & { operation?: string }, request: ToolRequest): void {
  const isSame = earlier.bodyHash === request.bodyHash && (earlier.operation ?? 'tool_execute') === 'tool_execute'
  if (isSame && (request.sessionId === undefined || request.sessionId === earlier.sessionId)) return
  throw new ServiceError('request_id_reused', `The request id ${request.requestId} was used for another request.`)
}
