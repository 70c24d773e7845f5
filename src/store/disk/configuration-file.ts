import { randomUUID } from 'node:crypto'
import { watch, type FSWatcher } from 'node:fs'
import { link, mkdir, open, readdir, readFile, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { FileChanged, type ConfigurationFile, type FileNote } from '../../configuration/configuration-file.ts'
import { writeWhole } from '../../files/write-whole.ts'

/** How many copies are kept. */
const maxBackups = 20
/** Editors write in more than one step. */
const settleMs = 150
/** Not every file system tells of its changes. */
const lookEveryMs = 5000

/** agent.yaml, and its copies in `<dataDir>/config-backups`. */
export function createConfigurationFile(file: string, dataDir: string): ConfigurationFile {
  const folder = path.join(dataDir, 'config-backups')
  const noteFile = path.join(dataDir, 'config-note.json')

  async function backUp(text: string): Promise<{ path: string; remove(): Promise<void> }> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    // An edit by a command is noticed by the service, which makes a copy too.
    const newest = (await findBackups()).at(0)
    if (newest && (await readFile(newest.place, 'utf8').catch(() => undefined)) === text)
      return { path: path.relative(dataDir, newest.place), remove: async () => undefined }
    const { name, ext } = path.parse(file)
    const stem = `${name}-${new Date().toISOString().replace(/[-:]/g, '')}`
    const copy = path.join(folder, `${stem}-${randomUUID().slice(0, 8)}${ext || '.yaml'}`)
    await writeNew(copy, text)
    await dropOldest(folder)
    return { path: path.relative(dataDir, copy), remove: () => rm(copy, { force: true }) }
  }

  /** Newest first, of this file alone. */
  async function findBackups(): Promise<{ place: string; at: number }[]> {
    const { name } = path.parse(file)
    const names = await readdir(folder).catch(() => [])
    const copies = names.flatMap((copy) => {
      const at = copy.startsWith(`${name}-`) ? timeIn(copy.slice(name.length)) : undefined
      return at === undefined ? [] : [{ place: path.join(folder, copy), at }]
    })
    return copies.toSorted((a, b) => b.at - a.at)
  }

  /** A copy that goes away meanwhile is none. */
  async function backups(): Promise<{ text: string; at: number }[]> {
    const read = async ({ place, at }: { place: string; at: number }) =>
      readFile(place, 'utf8').then(
        (text) => [{ text, at }],
        () => [],
      )
    return (await Promise.all((await findBackups()).map(read))).flat()
  }

  return {
    name: path.basename(file),
    read: () => readFile(file, 'utf8'),
    replace: (text, next) => replace(file, text, next),
    make: (text) => make(file, text),
    backUp,
    backups,
    note: (note) => writeWhole(noteFile, JSON.stringify({ ...note, file: path.resolve(file) })),
    recall: async () => recall(noteFile, path.resolve(file)),
    watch: (onChange) => follow(file, onChange),
  }
}

/** `-20261122T093015.123Z-...`, as in the names of copies; undefined for another text. */
function timeIn(text: string): number | undefined {
  const [, ...parts] = /^-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d\.\d{3})Z-/.exec(text) ?? []
  if (parts.length === 0) return undefined
  const [year, month, day, hour, minute, second] = parts
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
}

async function make(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomUUID().slice(0, 8)}.tmp`
  try {
    await writeNew(draft, text)
    // Fails where there is one, which a rename would replace.
    await link(draft, file)
  } finally {
    await rm(draft, { force: true })
  }
  await syncFolder(path.dirname(file))
}

/** Undefined where nothing was noted, or of another file. */
async function recall(noteFile: string, file: string): Promise<FileNote | undefined> {
  try {
    const note = JSON.parse(await readFile(noteFile, 'utf8')) as FileNote & { file: string }
    return note.file === file ? { database: note.database, n: note.n, id: note.id } : undefined
  } catch {
    return undefined
  }
}

/** Where the path is a link, what it leads to is replaced, and the link stays. */
async function replace(file: string, text: string, next: string): Promise<void> {
  const target = await realpath(file)
  const { mode, uid, gid } = await stat(target)
  const draft = `${target}.${randomUUID().slice(0, 8)}.tmp`
  try {
    await writeNew(draft, next, async (handle) => {
      // Another user's file stays theirs where we may give it to them; what they may do with it stays in any case.
      await handle.chown(uid, gid).catch(() => undefined)
      await handle.chmod(mode & 0o7777)
    })
    if ((await readFile(target, 'utf8')) !== text) throw new FileChanged(`${file} was changed meanwhile.`)
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  await syncFolder(path.dirname(target))
}

/** For this user alone, until `finish` gives it to others; durable when it resolves, and gone when it rejects. */
async function writeNew(file: string, text: string, finish?: (handle: FileHandle) => Promise<void>): Promise<void> {
  const handle = await open(file, 'wx', 0o600)
  try {
    await handle.writeFile(text)
    await finish?.(handle)
    await handle.sync()
  } catch (error) {
    await rm(file, { force: true })
    throw error
  } finally {
    await handle.close()
  }
}

/** So that a rename is not lost with the power; a file system that can't do it has done what it can. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}

/** Their names begin with their time. */
async function dropOldest(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => /-\d{8}T\d{6}\.\d{3}Z-/.test(name)).sort()
  await Promise.all(names.slice(0, -maxBackups).map((name) => rm(path.join(folder, name), { force: true })))
}

/** A file that is replaced by a rename is another one; its folder is watched. */
function follow(file: string, onChange: () => void): { close(): void } {
  const watchers: FSWatcher[] = []
  let pending: NodeJS.Timeout | undefined
  let isClosed = false

  function notifySoon(): void {
    clearTimeout(pending)
    if (!isClosed) pending = setTimeout(onChange, settleMs).unref()
  }

  /** A system that watches nothing more leaves the looking from time to time. */
  function watchFolder(folder: string, isOurs: (name: string | null) => boolean): void {
    if (isClosed) return
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => isOurs(name) && notifySoon())
      watcher.on('error', () => watcher.close())
      watchers.push(watcher)
    } catch {
      // As above.
    }
  }

  const name = path.basename(file)
  void realpath(file)
    .catch(() => file)
    .then((target) => {
      const isLink = target !== path.resolve(file)
      // A link may lead over others (as a mounted ConfigMap does), each of which may change.
      watchFolder(path.dirname(file), (changed) => isLink || changed === null || changed === name)
      if (path.dirname(target) !== path.dirname(file)) watchFolder(path.dirname(target), () => true)
    })
  const timer = setInterval(onChange, lookEveryMs).unref()
  return {
    close() {
      isClosed = true
      clearTimeout(pending)
      clearInterval(timer)
      for (const watcher of watchers) watcher.close()
    },
  }
}
