import { createWriteStream, type WriteStream } from 'node:fs'
import { once } from 'node:events'
import type { Kind, Kinds, Operation, OperationOf, Result } from './operations.ts'

/** The answer to an operation, as the client received it. */
export interface Answer<K extends Kind> {
  process?: string | undefined
  /** Default: by the status. */
  result?: Result
  status?: number
  error?: string | undefined
  tries?: number | undefined
  reply?: Kinds[K]['reply'] | undefined
}

/** All operations of a chaos run, in memory and as lines of JSON in a file. */
export class History {
  readonly operations: Operation[] = []
  private readonly file: WriteStream

  constructor(path: string) {
    this.file = createWriteStream(path)
  }

  /** Records an operation of `client`. An `attempt` that throws has an unknown result. */
  async record<K extends Kind>(
    client: string,
    kind: K,
    args: Kinds[K]['args'],
    attempt: () => Promise<Answer<K>>,
  ): Promise<OperationOf<K>> {
    const invokedAt = performance.now()
    const answer: Answer<K> = await attempt().catch((error: unknown) => ({ result: 'unknown' as const, error: String(error) }))
    return this.add(client, kind, args, { ...answer, invokedAt })
  }

  /** Adds an operation that ends now, and began at `invokedAt` (default: now). */
  add<K extends Kind>(
    client: string,
    kind: K,
    args: Kinds[K]['args'],
    { process, status, error, tries, reply, ...answer }: Answer<K> & { invokedAt?: number } = { result: 'ok' },
  ): OperationOf<K> {
    const endedAt = performance.now()
    const result = answer.result ?? resultOf(status)
    const operation: OperationOf<K> = {
      client,
      process,
      kind,
      args,
      invokedAt: answer.invokedAt ?? endedAt,
      endedAt,
      result,
      status,
      ...(error === undefined ? {} : { error }),
      ...(tries === undefined || tries === 1 ? {} : { tries }),
      reply,
    }
    this.operations.push(operation as Operation)
    this.file.write(`${JSON.stringify(operation)}\n`)
    return operation
  }

  async close(): Promise<void> {
    this.file.end()
    await once(this.file, 'close')
  }
}

/** A refusal has no effect; a failure of the service may have had one. */
function resultOf(status: number | undefined): Result {
  if (status === undefined || status >= 500) return 'unknown'
  return status < 400 ? 'ok' : 'fail'
}
