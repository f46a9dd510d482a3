import {
  ConnectionError,
  defaultFrameSize,
  defaultWindow,
  ErrorCode,
  maxWindow,
  readUint32,
  Setting,
} from './frames.ts'
import { defaultTableSize } from './hpack/dynamic-table.ts'

/** The peer's SETTINGS; before they arrive, the defaults of RFC 9113 section 6.5.2. */
export type PeerSettings = {
  headerTableSize: number
  maxConcurrentStreams: number
  initialWindowSize: number
  maxFrameSize: number
  maxHeaderListSize: number
}

export const initialPeerSettings: Readonly<PeerSettings> = {
  headerTableSize: defaultTableSize,
  maxConcurrentStreams: Number.POSITIVE_INFINITY,
  initialWindowSize: defaultWindow,
  maxFrameSize: defaultFrameSize,
  maxHeaderListSize: Number.POSITIVE_INFINITY,
}

/** Applies the payload of a SETTINGS frame to `current`; later entries win, unknown ones are skipped. */
export function readSettings(
  current: PeerSettings,
  bytes: Uint8Array,
  start: number,
  end: number,
): PeerSettings {
  if ((end - start) % 6 !== 0) {
    throw new ConnectionError(
      ErrorCode.frameSizeError,
      `SETTINGS has ${end - start} bytes, not a multiple of six`,
    )
  }
  const settings = { ...current }
  for (let at = start; at < end; at += 6) {
    applySetting(settings, (bytes[at]! << 8) | bytes[at + 1]!, readUint32(bytes, at + 2))
  }
  return settings
}

function applySetting(settings: PeerSettings, id: number, value: number): void {
  switch (id) {
    case Setting.headerTableSize:
      settings.headerTableSize = value
      return
    case Setting.enablePush:
      // A server may only send the value 0.
      if (value !== 0)
        throw new ConnectionError(ErrorCode.protocolError, `a server sent ENABLE_PUSH of ${value}`)
      return
    case Setting.maxConcurrentStreams:
      settings.maxConcurrentStreams = value
      return
    case Setting.initialWindowSize:
      if (value > maxWindow) {
        throw new ConnectionError(ErrorCode.flowControlError, `INITIAL_WINDOW_SIZE of ${value} is too large`)
      }
      settings.initialWindowSize = value
      return
    case Setting.maxFrameSize:
      if (value < defaultFrameSize || value > 0xffffff) {
        throw new ConnectionError(ErrorCode.protocolError, `MAX_FRAME_SIZE of ${value} is out of range`)
      }
      settings.maxFrameSize = value
      return
    case Setting.maxHeaderListSize:
      settings.maxHeaderListSize = value
      return
  }
}
