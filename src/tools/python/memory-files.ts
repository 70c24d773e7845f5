/** A file in the folder of a run. */
export interface RunFile {
  /** Relative to the folder, `/` between parts. */
  path: string
  bytes: Uint8Array
}

/** The part of Emscripten's file system used here. Pyodide's types leave the file system untyped. */
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

/** Emscripten's in-memory file system (MEMFS). */
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

/** The working directory of a run. */
export const folder = '/work'

/** Captured before any code runs: code with access to the surrounding JavaScript could replace properties of prototypes. */
const Bytes = Uint8Array
const { call } = Function.prototype
const typedArray = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(Bytes.prototype) as Uint8Array)
const bufferOf = call.bind(typedArray.buffer.get!) as (bytes: Uint8Array) => ArrayBuffer
const offsetOf = call.bind(typedArray.byteOffset.get!) as (bytes: Uint8Array) => number
const lengthOf = call.bind(typedArray.byteLength.get!) as (bytes: Uint8Array) => number
const setBytes = call.bind(typedArray.set.value!) as (target: Uint8Array, source: Uint8Array) => void

/** Copies the first `size` bytes of a file, or fewer if the file is shorter. */
function copyOf(contents: Uint8Array, size: number): Uint8Array {
  const length = size < lengthOf(contents) ? size : lengthOf(contents)
  const copy = new Bytes(length)
  setBytes(copy, new Bytes(bufferOf(contents), offsetOf(contents), length))
  return copy
}

/** Maximum length of all paths of omitted files together. */
export const maxOmittedCharacters = 10_000
const noSpace = 51
/** Maximum number of files, folders and links, of which Python itself has only a few. */
const maxNodes = 5_000
const readOnlyMode = 0o444

/** Limits the files in memory. A write refused by `isRoom` fails as on a full disk. */
export function limitFiles(fs: MemoryFileSystem, store: MemoryStore, isRoom: (bytes: number) => boolean) {
  let countedBytes = 0
  let nodes = 0

  // Deletions are counted only when memory gets short, which costs nothing before.
  function recount(): void {
    const liveNodes = new Set<FileNode>()
    const visit = (node: FileNode): void => {
      if (liveNodes.has(node)) return
      liveNodes.add(node)
      if (fs.isDir(node.mode)) Object.values(node.contents as Record<string, FileNode>).forEach(visit)
    }
    visit(fs.root)
    for (const stream of fs.streams) if (stream?.node) liveNodes.add(stream.node)
    nodes = liveNodes.size
    countedBytes = 0
    for (const { contents } of liveNodes) if (contents instanceof Uint8Array) countedBytes += contents.length
  }

  function claim(bytes: number): void {
    if (bytes <= 0) return
    if (!isRoom(countedBytes + bytes)) recount()
    if (!isRoom(countedBytes + bytes)) throw new fs.ErrnoError(noSpace)
    countedBytes += bytes
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
  store.createNode = (...nodeArguments) => {
    if (nodes >= maxNodes) recount()
    if (nodes >= maxNodes) throw new fs.ErrnoError(noSpace)
    nodes++
    return createNode(...nodeArguments)
  }
  stream.write = (open, buffer, offset, length, position, ...rest) => {
    if (open.node.usedBytes === 0 && position === 0) claim(length)
    return write(open, buffer, offset, length, position, ...rest)
  }
  recount()
  return { used: () => countedBytes }
}

/** The state of each file in the folder, for comparison after the run. */
export type FolderState = ReadonlyMap<string, string>

export interface WrittenFiles {
  files: RunFile[]
  /** Paths of files omitted because of the number or the size of files. */
  omittedFiles: string[]
}

export interface WrittenLimits {
  files: number
  /** Total bytes of all files. */
  bytes: number
}

export function createRunFolder(fs: MemoryFileSystem) {
  const nodeAt = (path: string): FileNode | undefined => {
    try {
      return fs.lookupPath(path, { follow: false }).node
    } catch {
      return undefined
    }
  }

  /** Restores the folder, which code may have moved or replaced. Every run starts in the folder. */
  function restore(): void {
    const node = nodeAt(folder)
    if (node && fs.isDir(node.mode)) return
    if (node) fs.unlink(folder)
    fs.mkdirTree(folder)
  }

  function addFile({ path, bytes }: RunFile): void {
    const target = `${folder}/${path}`
    fs.mkdirTree(target.slice(0, target.lastIndexOf('/')))
    if (nodeAt(target)) fs.unlink(target)
    fs.writeFile(target, bytes)
    fs.chmod(target, readOnlyMode)
    // A link with the file name alone, because questions often mention a file without its folder.
    const short = `${folder}/${path.slice(path.lastIndexOf('/') + 1)}`
    if (!nodeAt(short)) fs.symlink(target, short)
  }

  function collect(): Map<string, FileNode> {
    const fileNodes = new Map<string, FileNode>()
    const visit = (node: FileNode, path: string): void => {
      for (const [name, inner] of Object.entries(node.contents as Record<string, FileNode>)) {
        if (name.startsWith('.') || name === '__pycache__') continue
        if (fs.isDir(inner.mode)) visit(inner, `${path}${name}/`)
        else if (fs.isFile(inner.mode)) fileNodes.set(path + name, inner)
      }
    }
    const top = nodeAt(folder)
    if (top && fs.isDir(top.mode)) visit(top, '')
    return fileNodes
  }

  const stateOf = ({ id, mtime, usedBytes }: FileNode) => `${id} ${mtime} ${usedBytes}`

  function canAdd(file: RunFile): boolean {
    try {
      addFile(file)
      return true
    } catch {
      return false
    }
  }

  return {
    /** Adds read-only files and replaces files with the same names. Returns the paths of files for which there is no memory. */
    addFiles(files: readonly RunFile[]): string[] {
      restore()
      return files.filter((file) => !canAdd(file)).map(({ path }) => path)
    },
    state: () => new Map([...collect()].map(([path, node]) => [path, stateOf(node)])),
    /** New and changed files since `before`, without hidden files and compiled modules. */
    writtenSince(before: FolderState, { files: maxFiles, bytes: maxBytes }: WrittenLimits): WrittenFiles {
      const written: WrittenFiles = { files: [], omittedFiles: [] }
      let total = 0
      let characters = 0
      for (const [path, node] of collect()) {
        if (before.get(path) === stateOf(node)) continue
        const size = node.usedBytes ?? 0
        if (written.files.length === maxFiles || total + size > maxBytes) {
          characters += path.length
          if (characters <= maxOmittedCharacters) written.omittedFiles.push(path)
          continue
        }
        total += size
        written.files.push({ path, bytes: copyOf(node.contents as Uint8Array, size) })
      }
      return written
    },
  }
}
