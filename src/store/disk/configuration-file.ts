import { randomUUID } from 'node:crypto'
import { watch, type FSWatcher } from 'node:fs'
import { link, mkdir, open, readdir, readFile, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { FileChanged, type ConfigurationFile, type FileNote } from '../../configuration/configuration-store.ts'
import { writeWhole } from '../../files/write-whole.ts'

/** Number of backups kept. */
const maxBackups = 20
/** Milliseconds without a change before `onChange` is called, because editors write in several steps. */
const settleMs = 150
/** Poll interval in milliseconds, because not every file system reports changes. */
const pollMs = 5000

/** `agent.yaml`, and its backups in `<dataDir>/config-backups`. */
export function createConfigurationFile(file: string, dataDir: string): ConfigurationFile {
  const folder = path.join(dataDir, 'config-backups')
  const noteFile = path.join(dataDir, 'config-note.json')

  async function backUp(text: string): Promise<{ path: string; remove(): Promise<void> }> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    // After an edit by a command the running service makes a backup too, so equal texts share one backup.
    const newest = (await findBackups()).at(0)
    if (newest && (await readFile(newest.backupPath, 'utf8').catch(() => undefined)) === text)
      return { path: path.relative(dataDir, newest.backupPath), remove: async () => undefined }
    const { name, ext } = path.parse(file)
    const stem = `${name}-${new Date().toISOString().replace(/[-:]/g, '')}`
    const copy = path.join(folder, `${stem}-${randomUUID().slice(0, 8)}${ext || '.yaml'}`)
    await writeNew(copy, text)
    await dropOldest(folder)
    return { path: path.relative(dataDir, copy), remove: () => rm(copy, { force: true }) }
  }

  /** Backups of this file, newest first. */
  async function findBackups(): Promise<{ backupPath: string; at: number }[]> {
    const { name } = path.parse(file)
    const names = await readdir(folder).catch(() => [])
    const copies = names.flatMap((copy) => {
      const at = copy.startsWith(`${name}-`) ? timeIn(copy.slice(name.length)) : undefined
      return at === undefined ? [] : [{ backupPath: path.join(folder, copy), at }]
    })
    return copies.toSorted((a, b) => b.at - a.at)
  }

  /** Texts of the backups; backups deleted meanwhile are skipped. */
  async function backups(): Promise<{ text: string; at: number }[]> {
    const read = async ({ backupPath, at }: { backupPath: string; at: number }) =>
      readFile(backupPath, 'utf8').then(
        (text) => [{ text, at }],
        () => [],
      )
    return (await Promise.all((await findBackups()).map(read))).flat()
  }

  return {
    name: path.basename(file),
    read: () => readFile(file, 'utf8'),
    replace: (text, next) => replace(file, text, next),
    create: (text) => make(file, text),
    backUp,
    backups,
    saveNote: (note) => writeWhole(noteFile, JSON.stringify({ ...note, file: path.resolve(file) })),
    loadNote: async () => recall(noteFile, path.resolve(file)),
    watch: (onChange) => follow(file, onChange),
  }
}

/** Parses the time in the name of a backup (`-20261122T093015.123Z-...`); undefined for other names. */
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
    // `link` fails when the file exists; `rename` would replace the file.
    await link(draft, file)
  } finally {
    await rm(draft, { force: true })
  }
  await syncFolder(path.dirname(file))
}

/** Reads the note; undefined when there is no note, or a note about another file. */
async function recall(noteFile: string, file: string): Promise<FileNote | undefined> {
  try {
    const note = JSON.parse(await readFile(noteFile, 'utf8')) as FileNote & { file: string }
    return note.file === file ? { database: note.database, n: note.n, id: note.id } : undefined
  } catch {
    return undefined
  }
}

/** Replaces the text atomically. When the path is a symbolic link, the target is replaced and the link stays. */
async function replace(file: string, text: string, next: string): Promise<void> {
  const target = await realpath(file)
  const { mode, uid, gid } = await stat(target)
  const draft = `${target}.${randomUUID().slice(0, 8)}.tmp`
  try {
    await writeNew(draft, next, async (handle) => {
      // Keeps the owner of the file when the process may change owners, and the mode in any case.
      await handle.chown(uid, gid).catch(() => undefined)
      await handle.chmod(mode & 0o7777)
    })
    if ((await readFile(target, 'utf8')) !== text) throw new FileChanged(`${file} was changed by another program meanwhile.`)
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  await syncFolder(path.dirname(target))
}

/** Writes a new file with mode 0600, until `finish` changes the mode. Durable when resolved; removed when rejected. */
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

/** Syncs a folder, so that a rename survives a power failure. Errors of file systems without this operation are ignored. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}

/** Deletes all but the newest backups; their names sort by time. */
async function dropOldest(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => /-\d{8}T\d{6}\.\d{3}Z-/.test(name)).sort()
  await Promise.all(names.slice(0, -maxBackups).map((name) => rm(path.join(folder, name), { force: true })))
}

/** Watches the folder of a file, because a rename replaces the watched file itself. */
function follow(file: string, onChange: () => void): { close(): void } {
  const watchers: FSWatcher[] = []
  let pending: NodeJS.Timeout | undefined
  let isClosed = false

  function notifySoon(): void {
    clearTimeout(pending)
    if (!isClosed) pending = setTimeout(onChange, settleMs).unref()
  }

  /** Watches a folder. When the system refuses more watchers, polling remains. */
  function watchFolder(folder: string, isOurs: (name: string | null) => boolean): void {
    if (isClosed) return
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => isOurs(name) && notifySoon())
      watcher.on('error', () => watcher.close())
      watchers.push(watcher)
    } catch {
      // Polling remains.
    }
  }

  const name = path.basename(file)
  void realpath(file)
    .catch(() => file)
    .then((target) => {
      const isLink = target !== path.resolve(file)
      // A link may lead over further links (as in a mounted ConfigMap), and each may change.
      watchFolder(path.dirname(file), (changed) => isLink || changed === null || changed === name)
      if (path.dirname(target) !== path.dirname(file)) watchFolder(path.dirname(target), () => true)
    })
  const timer = setInterval(onChange, pollMs).unref()
  return {
    close() {
      isClosed = true
      clearTimeout(pending)
      clearInterval(timer)
      for (const watcher of watchers) watcher.close()
    },
  }
}
