/** A file in the folder of a run. */
export interface RunFile {
  /** Relative to the folder, `/` between parts. */
  path: string
  bytes: Uint8Array
}

/** Of Emscripten's file system in memory, what is used here; Pyodide's own types leave it open. */
export interface MemoryFileSystem {
  root: FileNode
  streams: ({ node?: FileNode } | null | undefined)[]
  ErrnoError: new (errno: number) => Error
  mkdirTree(path: string): void
  writeFile(path: string, bytes: Uint8Array): void
  chmod(path: string, mode: number): void
  symlink(target: string, path: string): void
  unlink(path: string): void
  lookupPath(path: string, options?: { follow: boolean }): { node: FileNode }
  isDir(mode: number): boolean
  isFile(mode: number): boolean
  makedev(major: number, minor: number): number
  registerDevice(device: number, operations: Record<string, unknown>): void
  mkdev(path: string, mode: number, device: number): void
}

interface FileNode {
  id: number
  mode: number
  mtime: number
  usedBytes?: number
  contents?: Uint8Array | Record<string, FileNode>
}

/** Emscripten's file system whose files are bytes in JavaScript's memory. */
export interface MemoryStore {
  ops_table: { file: { stream: { write: Write } } }
  expandFileStorage(node: FileNode, size: number): void
  resizeFileStorage(node: FileNode, size: number): void
  createNode(parent: FileNode, name: string, mode: number, device: number): FileNode
}

type Write = (
  stream: { node: FileNode },
  buffer: Uint8Array,
  offset: number,
  length: number,
  position: number,
  ...rest: unknown[]
) => number

/** The folder that a run works in. */
export const folder = '/work'

/** Taken before any code runs: code that reaches the JavaScript around it may exchange what prototypes have. */
const Bytes = Uint8Array
const { call } = Function.prototype
const typedArray = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(Bytes.prototype) as Uint8Array)
const bufferOf = call.bind(typedArray.buffer.get!) as (bytes: Uint8Array) => ArrayBuffer
const offsetOf = call.bind(typedArray.byteOffset.get!) as (bytes: Uint8Array) => number
const lengthOf = call.bind(typedArray.byteLength.get!) as (bytes: Uint8Array) => number
const setBytes = call.bind(typedArray.set.value!) as (target: Uint8Array, source: Uint8Array) => void

/** The first bytes of a file, as many as are asked for or as there are. */
function copyOf(contents: Uint8Array, size: number): Uint8Array {
  const length = size < lengthOf(contents) ? size : lengthOf(contents)
  const copy = new Bytes(length)
  setBytes(copy, new Bytes(bufferOf(contents), offsetOf(contents), length))
  return copy
}

/** Of the paths of files that were not handed over, together. */
export const maxLeftCharacters = 10_000
const noSpace = 51
/** Files, folders and links; the ones of Python itself are few. */
const maxNodes = 5_000
const readOnly = 0o444

export interface FileMemory {
  /** Bytes of all files. */
  used(): number
}

/** Bounds the files in memory: a write that `isRoom` refuses fails as on a full disk. */
export function limitFiles(fs: MemoryFileSystem, store: MemoryStore, isRoom: (bytes: number) => boolean): FileMemory {
  let known = 0
  let nodes = 0

  // What is deleted is noticed when room is short, which costs nothing until then.
  function recount(): void {
    const found = new Set<FileNode>()
    const visit = (node: FileNode): void => {
      if (found.has(node)) return
      found.add(node)
      if (fs.isDir(node.mode)) Object.values(node.contents as Record<string, FileNode>).forEach(visit)
    }
    visit(fs.root)
    for (const stream of fs.streams) if (stream?.node) found.add(stream.node)
    nodes = found.size
    known = 0
    for (const { contents } of found) if (contents instanceof Uint8Array) known += contents.length
  }

  function claim(bytes: number): void {
    if (bytes <= 0) return
    if (!isRoom(known + bytes)) recount()
    if (!isRoom(known + bytes)) throw new fs.ErrnoError(noSpace)
    known += bytes
  }

  const sizeOf = ({ contents }: FileNode) => (contents instanceof Uint8Array ? contents.length : 0)
  const { expandFileStorage, resizeFileStorage, createNode } = store
  const stream = store.ops_table.file.stream
  const { write } = stream
  store.expandFileStorage = (node, size) => {
    if (size > sizeOf(node)) claim(size * 2 - sizeOf(node))
    expandFileStorage(node, size)
  }
  store.resizeFileStorage = (node, size) => {
    claim(size - sizeOf(node))
    resizeFileStorage(node, size)
  }
  store.createNode = (...given) => {
    if (nodes >= maxNodes) recount()
    if (nodes >= maxNodes) throw new fs.ErrnoError(noSpace)
    nodes++
    return createNode(...given)
  }
  stream.write = (open, buffer, offset, length, position, ...rest) => {
    if (open.node.usedBytes === 0 && position === 0) claim(length)
    return write(open, buffer, offset, length, position, ...rest)
  }
  recount()
  return { used: () => known }
}

/** What stands in the folder, so that it can be told later what was written since. */
export type FolderState = ReadonlyMap<string, string>

export interface WrittenFiles {
  files: RunFile[]
  /** What is too many or too large to be handed over. */
  left: string[]
}

export interface WrittenLimits {
  files: number
  /** Of all files together. */
  bytes: number
}

export interface RunFolder {
  /** Puts files there to be read, in place of what has their names; answers with the paths of those that could not be put. */
  give(files: readonly RunFile[]): string[]
  state(): FolderState
  /** Files that are new or were written to since; hidden ones and compiled modules are left out. */
  writtenSince(before: FolderState, limits: WrittenLimits): WrittenFiles
}

export function createRunFolder(fs: MemoryFileSystem): RunFolder {
  const nodeAt = (path: string): FileNode | undefined => {
    try {
      return fs.lookupPath(path, { follow: false }).node
    } catch {
      return undefined
    }
  }

  /** Code may have moved it away, or put something else in its place: every run begins there. */
  function restore(): void {
    const node = nodeAt(folder)
    if (node && fs.isDir(node.mode)) return
    if (node) fs.unlink(folder)
    fs.mkdirTree(folder)
  }

  function put({ path, bytes }: RunFile): void {
    const target = `${folder}/${path}`
    fs.mkdirTree(target.slice(0, target.lastIndexOf('/')))
    if (nodeAt(target)) fs.unlink(target)
    fs.writeFile(target, bytes)
    fs.chmod(target, readOnly)
    // Questions speak of a file by its last name alone, too.
    const short = `${folder}/${path.slice(path.lastIndexOf('/') + 1)}`
    if (!nodeAt(short)) fs.symlink(target, short)
  }

  function collect(): Map<string, FileNode> {
    const found = new Map<string, FileNode>()
    const visit = (node: FileNode, path: string): void => {
      for (const [name, inner] of Object.entries(node.contents as Record<string, FileNode>)) {
        if (name.startsWith('.') || name === '__pycache__') continue
        if (fs.isDir(inner.mode)) visit(inner, `${path}${name}/`)
        else if (fs.isFile(inner.mode)) found.set(path + name, inner)
      }
    }
    const top = nodeAt(folder)
    if (top && fs.isDir(top.mode)) visit(top, '')
    return found
  }

  const stateOf = ({ id, mtime, usedBytes }: FileNode) => `${id} ${mtime} ${usedBytes}`

  function isPut(file: RunFile): boolean {
    try {
      put(file)
      return true
    } catch {
      return false
    }
  }

  return {
    give(files) {
      restore()
      return files.filter((file) => !isPut(file)).map(({ path }) => path)
    },
    state: () => new Map([...collect()].map(([path, node]) => [path, stateOf(node)])),
    writtenSince(before, { files: maxFiles, bytes: maxBytes }) {
      const written: WrittenFiles = { files: [], left: [] }
      let total = 0
      let characters = 0
      for (const [path, node] of collect()) {
        if (before.get(path) === stateOf(node)) continue
        const size = node.usedBytes ?? 0
        if (written.files.length === maxFiles || total + size > maxBytes) {
          characters += path.length
          if (characters <= maxLeftCharacters) written.left.push(path)
          continue
        }
        total += size
        written.files.push({ path, bytes: copyOf(node.contents as Uint8Array, size) })
      }
      return written
    },
  }
}
