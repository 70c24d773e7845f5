import { S3Client } from '@aws-sdk/client-s3'
import type { S3Settings } from '../../settings/artifacts.ts'

const connectMs = 3000
const idleMs = 15_000
const tries = 3

/** A connection to the server, by `endpoint` where it is another than the settings say. */
export function createClient({ region, endpoint, pathStyle, credentials }: S3Settings, at = endpoint): S3Client {
  return new S3Client({
    region,
    ...(at === undefined ? {} : { endpoint: at }),
    ...(credentials === undefined ? {} : { credentials }),
    forcePathStyle: pathStyle,
    maxAttempts: tries,
    // Other servers than Amazon's refuse the checksums that it has of late.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: connectMs, socketTimeout: idleMs },
  })
}
