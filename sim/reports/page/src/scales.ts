// Scales from values to pixels.
import {scaleLinear, scaleLog} from "d3-scale";

/** A scale from numbers to numbers. */
export interface Scale {
  (value: number): number;
  invert(at: number): number;
  ticks(count?: number): number[];
}

type Ends = [number, number];

// By its types a scale of D3 may answer undefined, which it does for NaN alone.
export function linearScale(domain: Ends, range: Ends): Scale {
  return scaleLinear(domain, range) as Scale;
}

export function logScale(domain: Ends, range: Ends): Scale {
  return scaleLog(domain, range) as Scale;
}
