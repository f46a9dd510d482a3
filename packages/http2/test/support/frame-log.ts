import { FrameReader } from '../../src/frame-reader.ts'
import { clientPreface, Flag, FrameType } from '../../src/frames.ts'
import { HeaderBlocks } from '../../src/header-blocks.ts'

export type Seen = {
  type: number
  flags: number
  stream: number
  payload: Buffer
  /** Only of a HEADERS or CONTINUATION frame that completes a block. */
  fields?: string[]
}

/** Reads what a client sends as a server would: preface, frames, header blocks decoded in order. */
export class FrameLog {
  readonly frames: Seen[] = []
  private preface = Buffer.alloc(0)
  private readonly blocks = new HeaderBlocks(1_000_000)
  private readonly reader: FrameReader

  constructor(onFrame?: (seen: Seen) => void) {
    this.reader = new FrameReader((type, flags, stream, bytes, start, end) => {
      const block =
        type === FrameType.headers
          ? this.blocks.headers(flags, stream, bytes, start, end)
          : type === FrameType.continuation
            ? this.blocks.continuation(flags, bytes, start, end)
            : undefined
      const seen = {
        type,
        flags,
        stream,
        payload: Buffer.from(bytes.subarray(start, end)),
        fields: block?.list.fields,
      }
      this.frames.push(seen)
      onFrame?.(seen)
      return true
    })
  }

  push(bytes: Buffer): void {
    let rest = bytes
    if (this.preface.length < clientPreface.length) {
      const missing = clientPreface.length - this.preface.length
      this.preface = Buffer.concat([this.preface, bytes.subarray(0, missing)])
      rest = bytes.subarray(missing)
      if (!clientPreface.subarray(0, this.preface.length).equals(this.preface))
        throw new Error('the preface is wrong')
    }
    this.reader.push(rest)
  }

  /** Removes and returns everything seen so far, or everything of one type. */
  take(type?: number): Seen[] {
    const taken = this.frames.filter((seen) => type === undefined || seen.type === type)
    this.frames.length = 0
    return taken
  }
}

export function headerOf(seen: Seen | undefined, name: string): string | undefined {
  const at = seen?.fields?.indexOf(name) ?? -1
  return at < 0 ? undefined : seen!.fields![at + 1]
}

export const endsStream = (seen: Seen): boolean =>
  (seen.type === FrameType.data || seen.type === FrameType.headers) && (seen.flags & Flag.endStream) !== 0
