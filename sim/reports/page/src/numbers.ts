// Numbers as people read them.

const kMinute = 60;
const kHour = 3600;
const kDay = 86400;

const grouped = new Intl.NumberFormat("en-US", {maximumFractionDigits: 0});

export function whole(value: number): string {
  return grouped.format(value);
}

/** About three digits, without an exponent. */
export function plain(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000 || Number.isInteger(value)) return grouped.format(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toFixed(digits);
}

export function percent(share: number, digits = 1): string {
  return (100 * share).toFixed(digits) + " %";
}

/** A length of time in its two largest units: "2 d 3 h", "4 min 05 s", "1.25 s", "3.1 ms". */
export function duration(seconds: number): string {
  if (seconds < 0) return "−" + duration(-seconds);
  if (seconds === 0) return "0 s";
  if (seconds < 1e-3) return plain(seconds * 1e6) + " µs";
  if (seconds < 1) return plain(seconds * 1e3) + " ms";
  if (seconds < 10) return String(Number(seconds.toFixed(3))) + " s";
  if (seconds < kMinute) return String(Number(seconds.toFixed(2))) + " s";
  const two = (n: number) => String(n).padStart(2, "0");
  const all = Math.round(seconds);
  if (all < kHour) return `${Math.floor(all / kMinute)} min ${two(all % kMinute)} s`;
  if (all < kDay) return `${Math.floor(all / kHour)} h ${two(Math.floor((all % kHour) / kMinute))} min`;
  return `${whole(Math.floor(all / kDay))} d ${Math.floor((all % kDay) / kHour)} h`;
}

/** A duration in one unit, short enough for an axis. */
export function shortDuration(seconds: number): string {
  const size = Math.abs(seconds);
  const short = (value: number) => String(Number(value.toPrecision(3)));
  if (size === 0) return "0";
  if (size < 1e-3) return short(seconds * 1e6) + " µs";
  if (size < 1) return short(seconds * 1e3) + " ms";
  if (size < kMinute) return short(seconds) + " s";
  if (size < kHour) return short(seconds / kMinute) + " min";
  if (size < kDay) return short(seconds / kHour) + " h";
  return short(seconds / kDay) + " d";
}

/** A time of the run's clock: "3 d 04:05:06", with as many digits of the second as `step` needs. */
export function clock(seconds: number, step = 1): string {
  const digits = step >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(step)));
  const scale = 10 ** digits;
  const all = Math.round(seconds * scale) / scale;
  const days = Math.floor(all / kDay);
  if (step >= kDay) return all === 0 ? "0" : `${whole(days)} d`;
  const two = (n: number) => String(n).padStart(2, "0");
  const hours = Math.floor((all % kDay) / kHour);
  const minutes = Math.floor((all % kHour) / kMinute);
  const rest = (all % kMinute).toFixed(digits).padStart(digits ? 3 + digits : 2, "0");
  const time = step >= kMinute && step % kMinute === 0
    ? `${two(hours)}:${two(minutes)}` : `${two(hours)}:${two(minutes)}:${rest}`;
  return days > 0 ? `${days} d ${time}` : time;
}

const kSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
  172800, 432000, 864000, 1728000, 4320000, 8640000];

/** Round times between `from` and `to`, at most about `count` of them. */
export function timeTicks(from: number, to: number, count: number): {step: number; ticks: number[]} {
  const raw = (to - from) / Math.max(1, count);
  let step = kSteps.find((one) => one >= raw);
  if (raw < 1) {
    const power = 10 ** Math.floor(Math.log10(raw));
    step = [1, 2, 5, 10].map((n) => n * power).find((one) => one >= raw * 0.999)!;
  }
  step ??= Math.ceil(raw / kDay) * kDay;
  const ticks = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to * (1 + 1e-12); i++) ticks.push(i * step);
  return {step, ticks};
}

/** Three significant digits, as wide as they need: "0.0312", "4.40", "1,240". */
export function digits3(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 100) return grouped.format(value);
  return value.toFixed(Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(size)))));
}

/** The unit in which durations up to `longest` seconds are written in a column, and its seconds. */
export function columnUnit(longest: number): [name: string, seconds: number] {
  if (longest >= 2 * kDay) return ["d", kDay];
  if (longest >= 2 * kHour) return ["h", kHour];
  if (longest >= 2 * kMinute) return ["min", kMinute];
  return longest >= 1 ? ["s", 1] : ["ms", 1e-3];
}

/** The value at a share of ranks of a sorted list, between the two closest ranks. */
export function quantile(sorted: number[], q: number): number {
  if (sorted.length === 0) return NaN;
  const at = q * (sorted.length - 1);
  const low = Math.floor(at);
  const next = sorted[Math.min(low + 1, sorted.length - 1)]!;
  return sorted[low]! + (at - low) * (next - sorted[low]!);
}

/** A difference with its sign, as `say` writes its size. */
export function signed(value: number, say: (value: number) => string): string {
  return value > 0 ? "+" + say(value) : value < 0 ? "−" + say(-value) : say(0);
}
