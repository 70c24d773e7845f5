import { S3Client } from '@aws-sdk/client-s3'
import type { S3Settings } from '../../settings/artifacts.ts'

/** A bucket and its client. */
export interface Bucket extends Pick<S3Settings, 'bucket' | 'prefix'> {
  client: S3Client
}

/** Time limit of a call in milliseconds, including retries and the waits between. */
const callMs = 10_000
/** Time limit of an upload of up to `wholeBytes`, in milliseconds: at least 300 KB/s. */
export const uploadMs = 60_000

/** An error of the server or the network, in one line. Errors of the SDK contain signed requests, so they never leave this folder. */
export class S3Error extends Error {
  /** Code of S3 (`NoSuchKey`) or of the system (`ECONNREFUSED`); `ENOSPC` when the storage is full. */
  readonly code: string
  readonly status: number | undefined

  constructor(code: string, status: number | undefined, message: string) {
    super(message)
    this.name = 'S3Error'
    this.code = code
    this.status = status
  }
}

/** Makes a call with a time limit in milliseconds. Rejects with `S3Error` only. */
export async function call<T>(ask: (options: { abortSignal: AbortSignal }) => Promise<T>, ms = callMs): Promise<T> {
  const abortSignal = AbortSignal.timeout(ms)
  try {
    return await ask({ abortSignal })
  } catch (error) {
    if (abortSignal.aborted) throw new S3Error('ETIMEDOUT', undefined, `The server did not answer within ${ms / 1000} s.`)
    throw toS3Error(error)
  }
}

/** True when the bucket exists and the object does not. */
export function isMissing(error: unknown): boolean {
  return error instanceof S3Error && error.status === 404 && error.code !== 'NoSuchBucket'
}

export async function orMissing<T>(answer: Promise<T>): Promise<T | undefined> {
  return answer.catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
}

/** Processes items with limited concurrency. After the first failure no item is begun; rejects when the running ones have ended. */
export async function inParallel<T>(items: Iterable<T>, work: (item: T) => Promise<unknown>, concurrency = 4): Promise<void> {
  const rest = items[Symbol.iterator]()
  let hasFailed = false
  async function lane(): Promise<void> {
    for (let next = rest.next(); !next.done && !hasFailed; next = rest.next()) {
      await work(next.value).catch((error: unknown) => {
        hasFailed = true
        throw error
      })
    }
  }
  const lanes = await Promise.allSettled(Array.from({ length: concurrency }, lane))
  for (const result of lanes) if (result.status === 'rejected') throw result.reason
}

interface SdkError {
  name?: string
  code?: string
  message?: string
  $metadata?: { httpStatusCode?: number; requestId?: string }
  errors?: unknown
}

const fullCodes = new Set(['QuotaExceeded', 'XMinioStorageFull', 'InsufficientStorage', 'ServiceQuotaExceeded'])

export function toS3Error(error: unknown): S3Error {
  if (error instanceof S3Error) return error
  const { name, code, message, $metadata, errors } = error as SdkError
  // A host with several addresses fails once per address.
  const [first] = Array.isArray(errors) ? (errors as SdkError[]) : []
  const errorCode = code ?? first?.code ?? name ?? 'Unknown'
  const status = $metadata?.httpStatusCode
  const details = [errorCode, status, $metadata?.requestId && `request ${$metadata.requestId}`].filter(Boolean).join(', ')
  return new S3Error(
    fullCodes.has(errorCode) || status === 507 ? 'ENOSPC' : errorCode,
    status,
    `${message || first?.message || errorCode} (${details})`,
  )
}

const connectMs = 3000
const idleMs = 15_000
const tries = 3

/** A client of the server; `at` overrides the endpoint of the settings. */
export function createClient({ region, endpoint, pathStyle, credentials }: S3Settings, at = endpoint): S3Client {
  return new S3Client({
    region,
    ...(at === undefined ? {} : { endpoint: at }),
    ...(credentials === undefined ? {} : { credentials }),
    forcePathStyle: pathStyle,
    maxAttempts: tries,
    // Servers other than Amazon's refuse the newer default checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: connectMs, socketTimeout: idleMs },
  })
}
