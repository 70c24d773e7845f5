import { randomUUID } from 'node:crypto'
import {
  AgentCoreError,
  createClient,
  type ApprovalPage,
  type Chunk,
  type Client,
  type Decision,
  type Retry,
  type Tool,
} from '../../../client/src/index.ts'
import { CommandFailure } from '../terminal.ts'

export type { Chunk, Decision } from '../../../client/src/index.ts'

/** An entry of the list of approvals. `messages` has the last messages of the session if the key may decide the call. */
export type ListedCall = ApprovalPage['approvals'][number]

/** A tool call that is executed only after approval. */
export type WaitingCall = Pick<ListedCall, 'tool_call_id' | 'tool' | 'tool_input'>

interface Question {
  requestId: string
  sessionId: string
  text: string
}

/** Client of a service for the terminal. Failures are `CommandFailure`s with a readable message. */
export interface ServiceClient {
  /**
   * Streams the chunks of an answer to the last chunk, and resumes a broken stream after the last event received. After a chunk with
   * `approval_required` the caller decides the calls, or cancels the run, before asking for the next chunk.
   */
  ask(question: Question, signal: AbortSignal): AsyncGenerator<Chunk, void>
  /** Decides a waiting call; throws `ServiceRefusal` if the service rejects the decision. */
  decide(requestId: string, decision: Decision): Promise<void>
  /** Lists the calls waiting for approval, newest first. */
  waitingCalls(): Promise<ListedCall[]>
  /** Cancels a run. Cancelling an ended or unknown run has no effect. */
  cancel(requestId: string): Promise<void>
  tools(): Promise<Tool[]>
  /** The messages of the agent's conversation starters. */
  starters(): Promise<string[]>
  /** The content of a file that a tool made. */
  content(artifactId: string): Promise<Uint8Array>
}

/** Error reply of the service, with its HTTP status. */
export class ServiceRefusal extends CommandFailure {
  readonly status: number

  constructor(status: number, words: string) {
    super(1, [words])
    this.status = status
  }
}

interface ServiceClientOptions {
  /** Base address without a trailing slash. */
  url: string
  key: string
  /** Attempts to resume a stream, and the milliseconds before the first attempt. Default: those of the client. */
  retries?: number
  retryDelayMs?: number
}

export function createServiceClient({ url, key, retries, retryDelayMs }: ServiceClientOptions): ServiceClient {
  const client = createClient({ baseUrl: url, accessKey: key, retries, retryDelayMs })

  async function* ask({ requestId, sessionId, text }: Question, signal: AbortSignal): AsyncGenerator<Chunk, void> {
    // A service that never answered is reported at once.
    const onRetry = ({ error, attempt }: Retry) => !(stream.number === 0 && attempt === 1 && isRefusedConnection(error))
    const stream = client.stream(
      { messages: [{ role: 'user', content: text }] },
      { requestId, sessionId, signal, onRetry, throughApprovals: true },
    )
    try {
      yield* stream
    } catch (error) {
      if (stream.number === 0 || !(error instanceof AgentCoreError) || error.status !== 0) throw toFailure(error)
      throw new CommandFailure(1, [`The connection to ${url} broke, and reconnecting failed.`])
    }
  }

  async function call<T>(request: (client: Client) => Promise<T>): Promise<T> {
    return request(client).catch((error: unknown) => {
      throw toFailure(error)
    })
  }

  return {
    ask,
    async decide(requestId, decision) {
      await call(({ approvals }) => approvals.decide(requestId, decision))
    },
    waitingCalls: async () => (await call(({ approvals }) => approvals.list())).approvals,
    async cancel(requestId) {
      await client.runs.cancel(requestId, { signal: AbortSignal.timeout(5000) }).catch(() => undefined)
    },
    tools: async () => (await call(({ tools }) => tools.list())).tools,
    starters: async () => (await call((client) => client.metadata())).conversation_starters.map(({ message }) => message),
    content: async (artifactId) => (await call(({ artifacts }) => artifacts.content(artifactId))).bytes(),
  }
}

/** A unique id for a session or a request. */
export function newId(): string {
  return randomUUID()
}

function isRefusedConnection({ cause }: AgentCoreError): boolean {
  return ((cause as Error | undefined)?.cause as { code?: unknown } | undefined)?.code === 'ECONNREFUSED'
}

/** Converts an error of the client to lines for the terminal. Any other error stays the same. */
export function toFailure(error: unknown): unknown {
  if (!(error instanceof AgentCoreError)) return error
  const { status, message } = error
  if (status === 0) return new CommandFailure(1, [message])
  return new ServiceRefusal(status, status === 401 ? `${message} Pass a valid key with --key.` : message)
}
