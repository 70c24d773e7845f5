import path from 'node:path'
import type { CallbackSecretStore } from '../access/callback-secrets.ts'
import { makeOnce, readPrivate } from './private-file.ts'

/** Keeps the secret that callbacks are signed with in `<folder>/callback-secret`, mode 0600. */
export function createCallbackSecretFile(folder: string): CallbackSecretStore {
  const file = path.join(folder, 'callback-secret')
  return {
    async load() {
      return (await readPrivate(file))?.trim()
    },
    save: (secret) => makeOnce(file, `${secret}\n`),
  }
}
