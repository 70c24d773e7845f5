import { S3Client } from '@aws-sdk/client-s3'
import type { S3Settings } from '../../settings/artifacts.ts'

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
