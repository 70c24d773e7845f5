import path from 'node:path'
import type { JWK } from 'jose'
import type { SigningKeyStore } from '../access/keys.ts'
import { makeOnce, readPrivate } from './private-file.ts'

/** Keeps the signing key in `<folder>/signing-key.json`, mode 0600. */
export function createSigningKeyFile(folder: string): SigningKeyStore {
  const file = path.join(folder, 'signing-key.json')
  return {
    async load() {
      const text = await readPrivate(file)
      if (text === undefined) return undefined
      const parsed = parseObject(text)
      if (!parsed)
        throw new Error(`${file} does not hold a signing key. Restore it, or delete it: then a new one is made, and all keys end.`)
      return parsed
    },
    save: (jwk) => makeOnce(file, `${JSON.stringify(jwk)}\n`),
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
