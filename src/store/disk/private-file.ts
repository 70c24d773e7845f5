import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import type { SharedSecret } from '../../access/keys/shared-secret.ts'

/** Reads a file; undefined when the file does not exist. */
export async function readPrivate(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

/** A secret in a file with mode 0600, for processes of one machine. Of two replacements in the same milliseconds the later wins. */
export function createPrivateFile(file: string): SharedSecret {
  const load = async () => (await readPrivate(file))?.trim()

  async function put(text: string, current: string | undefined): Promise<void> {
    if (current === undefined) await makeOnce(file, `${text}\n`)
    else if ((await load()) === current) await replacePrivate(file, `${text}\n`)
  }

  return {
    label: file,
    load,
    async change(next) {
      for (;;) {
        const current = await load()
        const text = await next(current)
        if (text === current) return text
        await put(text, current)
        if ((await load()) === text) return text
      }
    },
  }
}

/** Creates a file with mode 0600. An existing file stays unchanged, because `link` fails when the file exists. */
async function makeOnce(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  await withDraft(file, text, (draft) =>
    link(draft, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    }),
  )
}

/** Creates or replaces a file with mode 0600. */
export async function replacePrivate(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  await withDraft(file, text, (draft) => rename(draft, file))
}

/** Writes the text under another name first, so that readers never see a partial file. */
async function withDraft(file: string, text: string, use: (draft: string) => Promise<void>): Promise<void> {
  const draft = `${file}.${randomUUID()}`
  try {
    await writeDurably(draft, text)
    await use(draft)
  } finally {
    await rm(draft, { force: true })
  }
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
