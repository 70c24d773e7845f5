import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { decodeJwt } from 'jose'
import { ServiceError } from '../errors.ts'
import { toRecord, type AccessKeyStore } from './access-key-store.ts'
import { createKey, type SigningKey } from './keys.ts'
import { ownIssuer } from './principal.ts'
import type { Verifier } from './verify.ts'

const lifeSeconds = 30 * 24 * 3600
const renewBelowMs = (lifeSeconds * 1000) / 3

export interface AdminKeyOptions {
  /** The data directory; the key is its `admin.key`, mode 0600. */
  folder: string
  /** The administrators' tenant. */
  tenant: string
  signing: SigningKey
  verifier: Pick<Verifier, 'verify'>
  store: Pick<AccessKeyStore, 'insert'>
  /** Epoch milliseconds. */
  now(): number
}

/** Sees at start that there is an administrator's key that works for 10 days at least. Answers with its absolute path, never the key. */
export async function ensureAdminKey(options: AdminKeyOptions): Promise<{ file: string; renewed: boolean }> {
  const file = path.resolve(options.folder, 'admin.key')
  const kept = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  if (await isGood(kept.trim(), options)) return { file, renewed: false }
  const { tenant, signing, store, now } = options
  const request = { sub: 'admin', tenant, roles: ['admin'], expiresInSeconds: lifeSeconds, now: now() }
  const { key, claims } = await createKey(signing, request)
  // Registered first: a key that works but is not listed could not be found to be revoked.
  await store.insert(toRecord(claims))
  await replace(file, `${key}\n`)
  return { file, renewed: true }
}

async function isGood(key: string, { tenant, verifier, now }: AdminKeyOptions): Promise<boolean> {
  try {
    const who = await verifier.verify(key)
    if (who.issuer !== ownIssuer || who.tenant !== tenant || !who.roles.includes('admin')) return false
    return (decodeJwt(key).exp ?? 0) * 1000 - now() >= renewBelowMs
  } catch (error) {
    if (error instanceof ServiceError) return false
    throw error
  }
}

/** A reader sees the old key or the new one, and nobody else ever may. */
async function replace(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomUUID()}`
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  try {
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' })
    await rename(draft, file)
  } finally {
    await rm(draft, { force: true })
  }
}
