import { list, type Reader } from './values.ts'
import type { VariableName } from './variables.ts'

/** Bucket that keeps artifacts instead of the data directory, on Amazon S3 or a compatible server. */
export interface S3Settings {
  bucket: string
  /** Prefix of every object key, with a trailing slash. */
  prefix: string
  region: string
  /** Address of the server, without a trailing slash. Undefined: Amazon's endpoint of the region. */
  endpoint: string | undefined
  /** Address of the server in links to artifacts, without a trailing slash. */
  publicEndpoint: string | undefined
  /** Addresses are `<endpoint>/<bucket>` instead of `<bucket>.<endpoint>`. */
  pathStyle: boolean
  /** Undefined: the SDK's default chain (profile, role of the machine or container). */
  credentials: S3Credentials | undefined
}

export interface S3Credentials {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
}

const storeRule =
  's3://bucket or s3://bucket/prefix, the bucket 3 to 63 of a-z, 0-9, "-" and ".", the prefix of A-Z, a-z, 0-9, "-", "_", "." and "/"'

/** Excludes the segments `.` and `..`, which some servers resolve as folders. */
const storePattern = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]{1,100}){0,8})\/?$/

/** A bucket may be shared with other programs, so objects have a prefix even when none is set. */
const defaultPrefix = 'artifacts'

/** Reads the bucket for artifacts. Undefined: artifacts are kept in the data directory. */
export function readArtifactStore(read: Reader, problems: string[]): S3Settings | undefined {
  const store = read.location('ARTIFACT_STORE', (text) => storePattern.test(text), storeRule)
  const endpoint = readEndpoint(read, 'S3_ENDPOINT')
  const publicEndpoint = readEndpoint(read, 'S3_PUBLIC_ENDPOINT')
  const region = (['S3_REGION', 'AWS_REGION', 'AWS_DEFAULT_REGION'] as const)
    .map((name) => readRegion(read, name))
    .find((region) => region !== undefined)
  const pathStyle = read.oneOf('S3_PATH_STYLE', ['true', 'false'])
  if (store === undefined) return undefined
  const [, bucket, prefix] = storePattern.exec(store)!
  return {
    bucket: bucket!,
    prefix: `${prefix!.slice(1) || defaultPrefix}/`,
    region: region ?? 'us-east-1',
    endpoint,
    publicEndpoint,
    pathStyle: pathStyle === undefined ? endpoint !== undefined : pathStyle === 'true',
    credentials: readCredentials(read, problems),
  }
}

function readEndpoint(read: Reader, name: VariableName): string | undefined {
  return read.address(name)?.replace(/(?<!\/)\/+$/, '')
}

function readRegion(read: Reader, name: VariableName): string | undefined {
  return read.checked(name, (text) => /^[A-Za-z0-9-]{1,63}$/.test(text), 'a region like eu-central-1')
}

function readCredentials(read: Reader, problems: string[]): S3Credentials | undefined {
  const names = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'] as const
  const [accessKeyId, secretAccessKey, sessionToken] = ([...names, 'AWS_SESSION_TOKEN'] as const).map((name) =>
    read.secret(name, (text) => /^\S+$/.test(text), 'a text without spaces and line ends'),
  )
  const setNames = names.filter((name) => read.text(name) !== undefined)
  if (setNames.length === 1) {
    const [missing] = names.filter((name) => !setNames.includes(name))
    problems.push(`${missing} is not set. ${list(names)} must be set together.`)
  }
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined
  return { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) }
}
