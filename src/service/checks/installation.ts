import type { Finding } from '../../models/check-models.ts'
import type { Settings } from '../../settings/settings.ts'
import { access, constants, stat } from 'node:fs/promises'
import path from 'node:path'
import { isHeld, isOpenToOthers } from '../../store/sqlite/data-dir.ts'
import type { Database } from '../../store/database.ts'
import { openDatabase } from '../../store/open.ts'
import { createSecretBox } from '../../store/secrets/secret-box.ts'
import { checkEncrypted } from '../../store/secrets/secrets.ts'
import { messageOf, messageWithCause } from '../../errors.ts'
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { settlesWithin } from '../../concurrency/settles-within.ts'

/** Warns where metadata for OAuth clients depends on the headers of each request. */
export function checkPublicUrl({ accessProvider, publicUrl }: Pick<Settings, 'accessProvider' | 'publicUrl'>): Finding[] {
  if (accessProvider === undefined || publicUrl !== undefined) return []
  return [
    {
      state: 'warn',
      text: 'settings: OAuth metadata of /mcp names the host of each request, because PUBLIC_URL is not set',
      advice: 'Set PUBLIC_URL to the address that clients use, so that requests with another Host get no other address.',
    },
  ]
}

/** States where the service listens and stores its data. */
export function describeSettings({ host, port, workers, databaseUrl }: Settings): Finding {
  const processes = workers > 1 ? ` with ${workers} workers` : ''
  return {
    state: 'ok',
    text: `settings: listens on ${host}:${port}${processes}, stores data in ${databaseUrl === undefined ? 'SQLite' : 'Postgres'}`,
  }
}

/** Checks that the data directory can be used. `findService` returns the address of the service that uses the directory already. */
export async function checkDataDir(
  { dataDir, databaseUrl }: Settings,
  findService: (of: Pick<Settings, 'dataDir' | 'databaseUrl'>) => Promise<string | undefined>,
): Promise<Finding> {
  const label = `data directory: ${dataDir}`
  if (!(await exists(dataDir))) {
    if (await isWritable(await nearestFolder(dataDir))) return { state: 'ok', text: `${label} is created by the first start` }
    return { state: 'fail', text: `${label} cannot be created`, advice: 'Set DATA_DIR to a folder that this user can write to.' }
  }
  if (!(await isWritable(dataDir))) {
    return {
      state: 'fail',
      text: `${label} cannot be written to`,
      advice: 'Give this user write permission, or set DATA_DIR to another folder.',
    }
  }
  const url = await findService({ dataDir, databaseUrl })
  if (url !== undefined) return { state: 'ok', text: `${label}, in use by the service at ${url}` }
  if (databaseUrl !== undefined) return { state: 'ok', text: `${label} is writable` }
  if (isHeld(dataDir)) {
    const text = `${label} is in use, but nothing answers for it`
    return { state: 'warn', text, advice: 'A service may be starting or hanging; otherwise another process holds lock.db.' }
  }
  if (isOpenToOthers(dataDir)) {
    const advice = `The directory will hold keys and conversations: run chmod 700 ${dataDir}`
    return { state: 'warn', text: `${label} is open to other users of this machine`, advice }
  }
  return { state: 'ok', text: `${label} is writable, and no service uses it` }
}

export async function checkFilesRoot({ filesRoot }: Settings): Promise<Finding> {
  const label = `files: ${filesRoot}`
  const stats = await stat(filesRoot).catch(() => undefined)
  if (!stats) return { state: 'ok', text: `${label} is created by "agent-core serve --init"` }
  const isReadable = await access(filesRoot, constants.R_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  if (stats.isDirectory() && isReadable) return { state: 'ok', text: `${label} is readable` }
  return { state: 'fail', text: `${label} is not a folder that this user can read`, advice: 'Set FILES_ROOT to a readable folder.' }
}

export async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined
}

async function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
}

async function nearestFolder(file: string): Promise<string> {
  const parent = path.dirname(file)
  return parent === file || (await exists(parent)) ? parent : nearestFolder(parent)
}

/** Checks that SECRET_KEY decrypts the secrets of the database, and whether the previous key is still needed. */
export async function checkSecrets(settings: Settings): Promise<Finding[]> {
  const { databaseUrl } = settings
  if (databaseUrl === undefined) return []
  const { isPrepared } = await import('../../store/postgres/inspect.ts')
  // Opening the database would create its tables.
  if (!(await isPrepared(databaseUrl))) return []
  const database = await openDatabase(settings)
  try {
    return await checkSecretsOf(database, settings)
  } finally {
    await database.close()
  }
}

/** As `checkSecrets`, for an open database. */
export async function checkSecretsOf(database: Database, settings: Settings): Promise<Finding[]> {
  try {
    const { total, older } = await checkEncrypted(database, createSecretBox(settings.secretKeys))
    if (total === 0) return [{ state: 'ok', text: 'secrets: created by the first start' }]
    if (older === 0) return [{ state: 'ok', text: `secrets: all ${total} are encrypted with ${firstOf(settings)}` }]
    const advice = 'Restart every replica with both keys, the new key first. The old key is needed until this count is 0.'
    return [{ state: 'warn', text: `secrets: ${older} of ${total} are encrypted with the second key of SECRET_KEY`, advice }]
  } catch (error) {
    const advice =
      'Without SECRET_KEY the keys, callbacks and configurations of this database are lost: search backups of your settings for the value.'
    return [{ state: 'fail', text: `secrets: ${messageOf(error)}`, advice }]
  }
}

function firstOf({ secretKeys }: Settings): string {
  return secretKeys.length > 1 ? 'the first key of SECRET_KEY; the second key can be removed' : 'SECRET_KEY'
}

/** Checks that the artifact store is usable; without a store, warns that processes on other machines cannot read artifacts. */
export async function checkArtifacts({ artifactStore, databaseUrl, dataDir }: Settings): Promise<Finding[]> {
  if (!artifactStore) {
    const text = `artifacts: files in ${dataDir}, which processes on other machines cannot read`
    const advice = 'If the service runs on several machines, set ARTIFACT_STORE, or set DATA_DIR to a shared folder.'
    return databaseUrl === undefined ? [] : [{ state: 'warn', text, advice }]
  }
  const { checkBucket } = await import('../../store/s3/check.ts')
  const { bucket, prefix } = artifactStore
  try {
    await checkBucket(artifactStore, 0)
    return [{ state: 'ok', text: `artifacts: s3://${bucket}/${prefix.slice(0, -1)} accepts files` }]
  } catch (error) {
    const advice = 'Correct the variable, or allow reading, writing, listing and deleting under the prefix on the server.'
    return [{ state: 'fail', text: `artifacts: ${messageWithCause(error)}`, advice }]
  }
}

/** Checks which addresses callbacks and web tools may reach. */
export async function checkOutbound({ outboundAllow }: Settings): Promise<Finding> {
  if (outboundAllow.length === 0) return { state: 'ok', text: 'outbound: callbacks and web tools reach only public addresses' }
  const text = `outbound: public addresses, and ${outboundAllow.join(', ')}`
  const open = outboundAllow.filter((target) => target.endsWith('/0'))
  if (open.length > 0)
    return { state: 'warn', text, advice: `${open.join(', ')} allows every address, including addresses of this machine.` }
  const hosts = outboundAllow.map(toHost).filter((host) => host !== undefined)
  const unknown = (await Promise.all(hosts.map(async (host) => ((await canResolve(host)) ? [] : [host])))).flat()
  if (unknown.length === 0) return { state: 'ok', text }
  return { state: 'warn', text, advice: `No address was found for ${unknown.join(', ')}. Check the names in OUTBOUND_ALLOW.` }
}

const lookupMs = 3000

/** The host name of a target; undefined for addresses and CIDR blocks, which need no look-up. */
function toHost(target: string): string | undefined {
  const host = target.replace(/:\d+$/, '')
  return target.includes('/') || target.includes('[') || isIP(target) !== 0 || isIP(host) !== 0 ? undefined : host
}

/** False if a DNS look-up fails. A slow look-up proves nothing, and counts as found. */
async function canResolve(host: string): Promise<boolean> {
  const isFound = lookup(host).then(
    () => true,
    () => false,
  )
  return (await settlesWithin(isFound, lookupMs)) ? isFound : true
}
