/** A part of a message, in chat completions or responses. */
export interface InputPart extends FileFields {
  type: string
  text?: string | null
  refusal?: string | null
  image_url?: string | { url: string } | null
  /** Of a part `input_audio`: base64, and a name such as `wav`. */
  input_audio?: { data?: string | null; format?: string | null } | null
  /** Of a part `file` of a completion. Responses have the fields in the part itself. */
  file?: FileFields | null
}

/** A file of a message: an uploaded file, or the bytes. */
export interface FileFields {
  file_id?: string | null
  /** Base64, or a data: URL. */
  file_data?: string | null
  filename?: string | null
  file_url?: string | null
}

export interface InputMessage {
  role: 'system' | 'developer' | 'user' | 'assistant'
  content?: string | InputPart[] | null
}
