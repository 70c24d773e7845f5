import type { RunFile, WrittenLimits } from './memory-files.ts'

/** A message from the service to a Python process. */
export type Order =
  | ({ type: 'run' } & RunOrder)
  /** Raises KeyboardInterrupt in the run with this number, repeatedly until the run ends. */
  | { type: 'interrupt'; number: number }

export interface RunOrder {
  code: string
  /** Sequence number of the run in the process, which appears in tracebacks. */
  number: number
  /** Tool results as JSON of an object. If absent, the results of an earlier run stay. */
  results?: string
  inputFiles: RunFile[]
  /** Maximum characters of each text in the answer. */
  maxCharacters: number
  written: WrittenLimits
}

/** A message from a Python process to the service. */
export type Report =
  | { type: 'ready' }
  | { type: 'snapshot'; bytes: Uint8Array }
  | ({ type: 'ran' } & Ran)
  /** Python and its process have ended. */
  | { type: 'lost'; reason: 'memory' | 'crash' }

export interface Ran {
  /** JSON of `Outcome`, written by Python. */
  outcome: string
  stdout: string
  stderr: string
  /** Paths of input files for which there was no memory. */
  rejectedFiles: string[]
  files: RunFile[]
  /** Paths of written files beyond the limits. */
  omittedFiles: string[]
}

/** The outcome of the code. `result` is JSON. `repr` is Python's representation of a value without equivalent in JSON. */
export interface Outcome {
  result?: string
  repr?: string
  error?: string
  /** The code was ended by an interrupt. */
  stopped?: boolean
}

/** The worker data of a thread. */
export interface ThreadData {
  /** The URL of Pyodide's module. */
  pyodide: string
  /** Shared memory whose first number is set to 2 to raise an interrupt. */
  interrupts: SharedArrayBuffer
  /** Descriptor of the snapshot. If absent, the thread makes a snapshot. */
  snapshot?: number
  /** Memory limit of Python including its files. */
  bytes: number
}
