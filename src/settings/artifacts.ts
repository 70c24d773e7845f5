import { list, type Reader } from './values.ts'

/** Where artifacts are kept instead of the data directory: a bucket of Amazon S3, or of a server that speaks as it does. */
export interface S3Settings {
  bucket: string
  /** Before every name in the bucket; ends with a slash. */
  prefix: string
  region: string
  /** Without a slash at the end; undefined: Amazon's, by the region. */
  endpoint: string | undefined
  /** How those reach the bucket who open a link; without a slash at the end. */
  publicEndpoint: string | undefined
  /** `<endpoint>/<bucket>` in the place of `<bucket>.<endpoint>`. */
  pathStyle: boolean
  /** Undefined: a profile, a role of the machine or of its container, as the SDK finds them. */
  credentials: S3Credentials | undefined
}

export interface S3Credentials {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
}

const storeRule =
  's3://bucket or s3://bucket/prefix, the bucket 3 to 63 of a-z, 0-9, "-" and ".", the prefix of A-Z, a-z, 0-9, "-", "_", "." and "/"'

/** A name that means a folder to some servers is none here. */
const storePattern = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]{1,100}){0,8})\/?$/

/** What lies in a bucket without a prefix may be anybody's: ours has one all the same. */
const defaultPrefix = 'artifacts'

/** Reads where artifacts are kept; undefined where that is the data directory. */
export function readArtifactStore(read: Reader, problems: string[]): S3Settings | undefined {
  const store = read.place('ARTIFACT_STORE', (text) => storePattern.test(text), storeRule)
  const endpoint = readEndpoint(read, 'S3_ENDPOINT')
  const publicEndpoint = readEndpoint(read, 'S3_PUBLIC_ENDPOINT')
  const region = ['S3_REGION', 'AWS_REGION', 'AWS_DEFAULT_REGION'].map((name) => readRegion(read, name)).find((one) => one !== undefined)
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

function readEndpoint(read: Reader, name: string): string | undefined {
  return read.address(name)?.replace(/(?<!\/)\/+$/, '')
}

function readRegion(read: Reader, name: string): string | undefined {
  return read.checked(name, (text) => /^[A-Za-z0-9-]{1,63}$/.test(text), 'a region like eu-central-1')
}

function readCredentials(read: Reader, problems: string[]): S3Credentials | undefined {
  const names = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'] as const
  const [accessKeyId, secretAccessKey, sessionToken] = [...names, 'AWS_SESSION_TOKEN'].map((name) =>
    read.secret(name, (text) => /^\S+$/.test(text), 'a text without spaces and line ends'),
  )
  const given = names.filter((name) => read.text(name) !== undefined)
  if (given.length === 1) {
    const [missing] = names.filter((name) => !given.includes(name))
    problems.push(`${missing} is not set; ${list(names)} come together.`)
  }
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined
  return { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) }
}
