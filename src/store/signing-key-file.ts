import { link, mkdir, open, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { randomUUID } from 'node:crypto'
import type { JWK } from 'jose'
import type { SigningKeyStore } from '../access/keys.ts'

/** Keeps the signing key in `<folder>/signing-key.json`, mode 0600. */
export function createSigningKeyFile(folder: string): SigningKeyStore {
  const file = path.join(folder, 'signing-key.json')

  async function load(): Promise<JWK | undefined> {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    if (text === undefined) return undefined
    const parsed = parseObject(text)
    if (!parsed) throw new Error(`${file} does not hold a signing key. Restore it, or delete it: then a new one is made, and all keys end.`)
    return parsed
  }

  /** Written whole under another name, then linked: a reader never sees half a key, and `link` fails where there is one already. */
  async function save(jwk: JWK): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const draft = `${file}.${randomUUID()}`
    try {
      await writeDurably(draft, `${JSON.stringify(jwk)}\n`)
      await link(draft, file).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
    } finally {
      await rm(draft, { force: true })
    }
  }

  return { load, save }
}

async function writeDurably(file: string, text: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function parseObject(text: string): JWK | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
