// Asks Perfetto's own trace processor about a trace: node perfetto.mjs ENGINE_FOLDER TRACE.json < QUERIES > ROWS
// Queries are a JSON list of SQL texts; the answer is a JSON list of lists of rows. The engine is the one that
// ui.perfetto.dev runs in the browser's worker; here node plays the browser.
import fs from 'node:fs';
import path from 'node:path';

const [folder, file] = process.argv.slice(2);

// ---- as much of protobuf as the engine's messages need

const varint = (n) => {
  const bytes = [];
  for (let rest = BigInt(n); ; rest >>= 7n) {
    if (rest < 128n) return bytes.concat(Number(rest));
    bytes.push(Number(rest & 127n) | 128);
  }
};
const bytesField = (number, bytes) => Buffer.concat([Buffer.from(varint((number << 3) | 2)), Buffer.from(varint(bytes.length)), bytes]);
const numberField = (number, value) => Buffer.from([...varint(number << 3), ...varint(value)]);

function readVarint(b, at) {
  let n = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const byte = b[at++];
    n |= BigInt(byte & 127) << shift;
    if (byte < 128) return [n, at];
  }
}
function* fields(b) {
  for (let at = 0; at < b.length; ) {
    let tag, value;
    [tag, at] = readVarint(b, at);
    const kind = Number(tag & 7n);
    if (kind === 0) [value, at] = readVarint(b, at);
    else if (kind === 1) { value = b.subarray(at, at + 8); at += 8; }
    else if (kind === 2) { [value, at] = readVarint(b, at); const end = at + Number(value); value = b.subarray(at, end); at = end; }
    else throw new Error(`wire type ${kind}`);
    yield [Number(tag >> 3n), value];
  }
}
const list = (b) => { const found = []; for (let at = 0, n; at < b.length; found.push(n)) [n, at] = readVarint(b, at); return found; };

// ---- the engine

let reply = null;
const port = { postMessage: (bytes) => reply.push(Buffer.from(bytes)) };
const worker = { onmessage: null, location: { href: 'http://localhost/' } };
class XMLHttpRequest {
  open(method, name) { this.name = name; }
  send() { this.response = fs.readFileSync(path.join(folder, path.basename(this.name))); this.status = 200; }
}
const browser = {
  self: worker, WorkerGlobalScope: class {}, XMLHttpRequest, WebAssembly, URL, TextDecoder, TextEncoder, performance, setTimeout, clearTimeout,
  Uint8Array, console: { log() {}, warn() {}, error() {} }, location: worker.location,

};
browser.globalThis = browser;
const names = Object.keys(browser);
new Function(...names, 'process', 'window', 'document', fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'))(
  ...names.map((n) => browser[n]), undefined, undefined, undefined);
worker.onmessage({ data: port });

let sequence = 0;
const [append, finalize, query] = [1, 2, 3];
function call(method, args = Buffer.alloc(0)) {
  reply = [];
  const message = Buffer.concat([numberField(1, sequence++), numberField(2, method), args]);
  port.onmessage({ data: new Uint8Array(bytesField(1, message)) });
  return Buffer.concat(reply);
}
function rowsOf(answer) {
  const names = [];
  const cells = [];
  for (const [, message] of fields(answer))
    for (const [field, result] of fields(message)) {
      if (field === 5) throw new Error(`the engine has crashed: ${result}`);
      if (field !== 203) continue;
      for (const [part, value] of fields(result)) {
        if (part === 1) names.push(value.toString());
        if (part === 2 && value.length) throw new Error(value.toString());
        if (part !== 3) continue;
        let kinds = [], numbers = [], floats = [], texts = [];
        for (const [f, v] of fields(value)) {
          if (f === 1) kinds = list(v).map(Number);
          if (f === 2) numbers = list(v);
          if (f === 3) for (let i = 0; i < v.length; i += 8) floats.push(v.readDoubleLE(i));
          if (f === 5) texts = v.toString().split('\0');
        }
        for (const k of kinds)
          cells.push(k === 2 ? Number(BigInt.asIntN(64, numbers.shift())) : k === 3 ? floats.shift() : k === 4 ? texts.shift() : null);
      }
    }
  const rows = [];
  while (cells.length) rows.push(Object.fromEntries(names.map((n) => [n, cells.shift()])));
  return rows;
}

// The engine's memory comes from a promise; it takes requests after that.
setTimeout(() => {
  const trace = fs.readFileSync(file);
  for (let at = 0; at < trace.length; at += 1 << 24) call(append, bytesField(101, trace.subarray(at, at + (1 << 24))));
  call(finalize);
  const queries = JSON.parse(fs.readFileSync(0, 'utf8'));
  console.log(JSON.stringify(queries.map((sql) => rowsOf(call(query, bytesField(103, bytesField(1, Buffer.from(sql))))))));
}, 2000);
