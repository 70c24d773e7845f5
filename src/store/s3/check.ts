import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { DeleteObjectCommand, ListObjectsV2Command, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import type { S3Settings } from '../../settings/artifacts.ts'
import { call, toS3Error, type S3Error, createClient } from './calls.ts'

const startupWaitMs = 15_000
const retryMs = 1000

/**
 * Checks that the bucket exists and allows to write, list and delete. Throws an error of one line with the setting to correct. Waits for an
 * unreachable server, which may be starting too.
 */
export async function checkBucket(settings: S3Settings, waitMs = startupWaitMs): Promise<void> {
  const client = createClient(settings)
  const until = Date.now() + waitMs
  try {
    for (;;) {
      const fault = await tryActions(client, settings)
      if (!fault) return
      if (!isAway(fault.error) || Date.now() + retryMs > until) throw new Error(explain(fault, settings))
      await sleep(retryMs)
    }
  } finally {
    client.destroy()
  }
}

interface BucketFault {
  /** The action that failed. */
  action: 'write' | 'list' | 'delete'
  error: S3Error
}

async function tryActions(client: S3Client, { bucket: Bucket, prefix }: S3Settings): Promise<BucketFault | undefined> {
  // Folders of sessions never begin with a dot.
  const Key = `${prefix}.check/${randomUUID()}`
  const actions = {
    write: () => call((options) => client.send(new PutObjectCommand({ Bucket, Key, Body: 'ok', ContentLength: 2 }), options)),
    list: () => call((options) => client.send(new ListObjectsV2Command({ Bucket, Prefix: prefix, MaxKeys: 1 }), options)),
    delete: () => call((options) => client.send(new DeleteObjectCommand({ Bucket, Key }), options)),
  } as const
  for (const action of ['write', 'list', 'delete'] as const) {
    try {
      await actions[action]()
    } catch (error) {
      return { action, error: toS3Error(error) }
    }
  }
  return undefined
}

/** True when the server is unreachable or not ready; false for a refusal. */
function isAway({ status, code }: S3Error): boolean {
  return status === undefined ? code.startsWith('E') || code === 'TimeoutError' : status >= 500
}

const wrongCredentialsCodes = new Set([
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
  'InvalidToken',
  'ExpiredToken',
  'InvalidClientTokenId',
])
const wrongRegionCodes = new Set(['PermanentRedirect', 'AuthorizationHeaderMalformed', 'IllegalLocationConstraintException'])

function explain({ action, error }: BucketFault, { bucket, prefix, endpoint, region }: S3Settings): string {
  const store = `ARTIFACT_STORE is "s3://${bucket}/${prefix.slice(0, -1)}"`
  const { code, message } = error
  if (code === 'CredentialsProviderError')
    return 'ARTIFACT_STORE needs credentials, but AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and no others were found.'
  if (wrongCredentialsCodes.has(code)) return `The server of ARTIFACT_STORE rejects AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: ${message}`
  if (wrongRegionCodes.has(code) || error.status === 301)
    return `S3_REGION is "${region}"; the bucket "${bucket}" of ARTIFACT_STORE is in another region: ${message}`
  if (code === 'NoSuchBucket' || error.status === 404) return `${store}; there is no such bucket: ${message}`
  if (error.status === 403) return `${store}; its credentials lack the permission to ${action} there: ${message}`
  if (isAway(error))
    return `S3_ENDPOINT is ${endpoint === undefined ? 'not set' : `"${endpoint}"`}; the server of ARTIFACT_STORE cannot be reached there: ${message}`
  return `${store}; the check could not ${action} there: ${message}`
}
