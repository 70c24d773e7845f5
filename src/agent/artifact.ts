/** Session entry of a file made by a tool. The bytes are stored separately. */
export interface Artifact {
  /** UUIDv7. */
  id: string
  /** A base name, safe on any file system. */
  name: string
  /** MIME type. */
  type: string
  /** Bytes. */
  size: number
  /** SHA-256 of the bytes, in hex. */
  sha256: string
  /** The name of the tool. */
  tool: string
  /** Epoch milliseconds. */
  createdAt: number
}

/** Stores a file. Rejects when the file is too large or the disk is full. */
export type KeepArtifact = (file: NewArtifact) => Promise<Artifact>

/** How a call uses a file, beside storing it. */
export interface ArtifactUse {
  /**
   * True when the file is part of the call's result: models with vision see returned pictures, MCP clients get the
   * content.
   */
  isReturned: boolean
  /** The tool's URI of a returned resource that is neither picture nor sound. */
  uri?: string
}

/** A file in the result of a call. */
export interface ReturnedFile {
  artifact: Artifact
  uri?: string
}

/** A file as a tool passes it to `KeepArtifact`. */
export interface NewArtifact {
  /** The name that the tool or the model chose; made safe when stored. */
  name: string
  /** MIME type. */
  type: string
  bytes: Uint8Array
  tool: string
}
