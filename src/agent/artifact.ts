/** A file that a tool made. Its bytes are elsewhere; this is what a session tells of it. */
export interface Artifact {
  /** UUIDv7. */
  id: string
  /** A base name, safe on any file system. */
  name: string
  /** MIME type. */
  type: string
  /** Bytes. */
  size: number
  /** Of the bytes, hex. */
  sha256: string
  /** The tool that made it. */
  tool: string
  /** Epoch milliseconds. */
  createdAt: number
}

/** Keeps a file. Throws where it can't be kept: too large, disk full. */
export type KeepArtifact = (file: NewArtifact) => Promise<Artifact>

/** What becomes of a file beside being kept. */
export interface ArtifactUse {
  /** It is part of what the call returns: a model that sees is shown a picture, and MCP clients get the content. */
  isReturned: boolean
  /** What the tool calls it, where that is no picture or sound but a resource of its own. */
  uri?: string
}

/** A file that a call has returned. */
export interface ReturnedFile {
  artifact: Artifact
  uri?: string
}

/** A file as a tool hands it over. */
export interface NewArtifact {
  /** As the tool, or the model, would call it; is made safe. */
  name: string
  /** MIME type. */
  type: string
  bytes: Uint8Array
  tool: string
}
