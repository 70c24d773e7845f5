import type { RunFile, WrittenLimits } from './memory-files.ts'

/** What the service tells a Python process. */
export type Order =
  | ({ type: 'run' } & RunOrder)
  /** Raises KeyboardInterrupt in the run of this number, again and again until that ends. */
  | { type: 'interrupt'; number: number }

export interface RunOrder {
  code: string
  /** Counts the runs of a process; it is part of tracebacks. */
  number: number
  /** JSON of an object; absent: what an earlier run was given stays. */
  results?: string
  given: RunFile[]
  /** Characters of each text of the answer. */
  maxCharacters: number
  written: WrittenLimits
}

/** What a Python process tells the service. */
export type Report =
  | { type: 'ready' }
  | { type: 'snapshot'; bytes: Uint8Array }
  | ({ type: 'ran' } & Ran)
  /** Python is gone, and the process with it. */
  | { type: 'lost'; reason: 'memory' | 'crash' }

export interface Ran {
  /** JSON `Told`, as Python wrote it. */
  told: string
  stdout: string
  stderr: string
  /** Paths of given files for which there was no room. */
  notGiven: string[]
  files: RunFile[]
  /** Paths of files that were too many or too large. */
  left: string[]
}

/** What became of the code. `result` is JSON, `repr` what Python shows of a value that JSON does not have. */
export interface Told {
  result?: string
  repr?: string
  error?: string
  /** An interrupt ended it. */
  stopped?: boolean
}

/** What a thread is made with. */
export interface ThreadData {
  /** The URL of Pyodide's module. */
  pyodide: string
  /** Raises an interrupt where its first number is 2. */
  interrupts: SharedArrayBuffer
  /** A descriptor to read the snapshot from; absent: one is made. */
  snapshot?: number
  /** Python's memory and its files together. */
  bytes: number
}
