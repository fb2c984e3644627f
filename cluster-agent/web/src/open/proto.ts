// Reads fields of a protobuf message. Throws a FileError where the bytes end too early or are none.

import { FileError, UNKNOWN } from "./stacks";

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

const damaged = (): FileError => new FileError("It is damaged: it ends in the middle.");

export class ProtoReader {
  field = 0; // of the last call of next()
  private wire = 0;

  constructor(
    private bytes: Uint8Array,
    private at = 0,
    private end = bytes.length,
  ) {}

  /** Goes to the next field; false at the end. Its value has to be read or skipped. */
  next(): boolean {
    if (this.at >= this.end) return false;
    const tag = this.unsigned();
    this.wire = tag % 8;
    this.field = Math.floor(tag / 8);
    if (this.field < 1 || this.field > 0x1fffffff || ![0, 1, 2, 5].includes(this.wire))
      throw new FileError(UNKNOWN);
    return true;
  }

  private unsigned(): number {
    let v = 0;
    for (let scale = 1, i = 0; i < 10; i++, scale *= 128) {
      if (this.at >= this.end) throw damaged();
      const byte = this.bytes[this.at++];
      v += (byte & 127) * scale;
      if (byte < 128) return v;
    }
    throw new FileError("It is damaged: a number in it does not end.");
  }

  /** A number, signed; above 2^53 it is rounded. */
  int(): number {
    if (this.wire !== VARINT) {
      this.skip();
      return 0;
    }
    const from = this.at;
    const v = this.unsigned();
    return v < 2 ** 63 ? v : Number(BigInt.asIntN(64, this.exact(from)));
  }

  /** The number that was read from here on, with all its digits. */
  private exact(from: number): bigint {
    let v = 0n;
    for (let i = this.at - 1; i >= from; i--) v = (v << 7n) | BigInt(this.bytes[i] & 127);
    return v;
  }

  /** A number of 64 bits that must not be rounded, as it is an identity. */
  id(): number | bigint {
    if (this.wire !== VARINT) {
      this.skip();
      return 0;
    }
    const from = this.at;
    const v = this.unsigned();
    return v <= Number.MAX_SAFE_INTEGER ? v : BigInt.asUintN(64, this.exact(from));
  }

  private range(): [number, number] {
    const length = this.unsigned();
    const from = this.at;
    if (length > this.end - from) throw damaged();
    this.at = from + length;
    return [from, this.at];
  }

  skip(): void {
    if (this.wire === VARINT) this.unsigned();
    else if (this.wire === BYTES) this.range();
    else this.at += this.wire === FIXED64 ? 8 : FIXED32 === this.wire ? 4 : 0;
    if (this.at > this.end) throw damaged();
  }

  /** A message within this one; an empty one for other fields. */
  message(): ProtoReader {
    if (this.wire === BYTES) return new ProtoReader(this.bytes, ...this.range());
    this.skip();
    return new ProtoReader(this.bytes, 0, 0);
  }

  text(decoder: TextDecoder): string {
    if (this.wire === BYTES) return decoder.decode(this.bytes.subarray(...this.range()));
    this.skip();
    return "";
  }

  /** Calls `add` for each number of a repeated field, packed or not; it has to read the number. */
  numbers(add: (r: ProtoReader) => void): void {
    if (this.wire !== BYTES) return add(this);
    const r = this.message();
    r.wire = VARINT;
    while (r.at < r.end) add(r);
  }
}
